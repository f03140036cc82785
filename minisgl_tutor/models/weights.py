"""Fills a decoder: from safetensors files, tensor by tensor, or with seeded random numbers."""

from __future__ import annotations

import zlib
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .decoder import Decoder
from .directory import weight_files
from .errors import ModelError

DUMMY_SPREAD = 0.02


def load_weights(decoder: Decoder, model_dir: Path) -> None:
    """Copies each tensor of the checkpoint to its place, converted to the decoder's type.

    Raises:
        ModelError: a file is damaged, or the tensors are not those of this decoder.
    """
    places = decoder.destinations()
    with torch.inference_mode():
        for file in weight_files(model_dir):
            try:
                with safe_open(file, framework="pt") as tensors:
                    for name in tensors.keys():  # noqa: SIM118 (not a dict)
                        if not _ignored(name, decoder):
                            _fill(places, name, tensors.get_tensor(name), file)
            except (SafetensorError, OSError) as error:
                raise ModelError(f"{file} is damaged ({error}); download the model again.") from None
    if places:
        raise ModelError(f"{model_dir} lacks the weights {next(iter(places))}; download the model again.")
    decoder.freeze()


def _ignored(name: str, decoder: Decoder) -> bool:
    """Tensors that some checkpoints carry although they follow from others."""
    tied_head = decoder.config.tie_embeddings and name == "lm_head.weight"
    return tied_head or name.endswith("rotary_emb.inv_freq")


def _fill(places: dict[str, Tensor], name: str, tensor: Tensor, file: Path) -> None:
    place = places.pop(name, None)
    if place is None:
        raise ModelError(f"{file} holds the weights {name}, which this kind of model does not have.")
    if place.shape != tensor.shape:
        raise ModelError(
            f"{name} in {file} has the shape {list(tensor.shape)}, not {list(place.shape)} as configured."
        )
    place.copy_(tensor)


def dummy_weights(decoder: Decoder, seed: int = 0) -> None:
    """Random weights that depend on the seed and each tensor's name alone; norms are ones."""
    with torch.inference_mode():
        for name, place in decoder.destinations().items():
            if name.endswith("norm.weight"):
                place.fill_(1)
                continue
            generator = torch.Generator(place.device).manual_seed(zlib.crc32(f"{seed} {name}".encode()))
            place.normal_(0, DUMMY_SPREAD, generator=generator)
    decoder.freeze()
