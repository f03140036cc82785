"""Fills a decoder, or a rank's part of it: from safetensors files, tensor by tensor, or at random."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from ..language import Sentence
from ..panics import LibraryPanic, panics_as_errors
from ..progress import progress
from .decoder import Decoder
from .directory import weight_files
from .errors import ModelError
from .shard import Shard

DUMMY_SPREAD = 0.02


def load_weights(decoder: Decoder, model_dir: Path) -> None:
    """Copies each tensor of the checkpoint to its place, converted to the decoder's type.

    A rank reads its part of a tensor and no more.

    Raises:
        ModelError: a file is damaged, or the tensors are not those of this decoder.
    """
    places = decoder.destinations()
    total = sum(place.nbytes for place in places.values())
    with (
        torch.inference_mode(),
        progress(Sentence("loading the weights"), total, decoder.group.rank) as advance,
    ):
        for file in weight_files(model_dir):
            try:
                with panics_as_errors(), safe_open(file, framework="pt") as tensors:
                    for name in tensors.keys():  # noqa: SIM118 (not a dict)
                        if not _ignored(name, decoder):
                            advance(_fill(places, name, tensors, decoder.shard, file))
            except (SafetensorError, LibraryPanic, OSError) as error:
                raise ModelError(
                    Sentence(
                        "{file} is damaged ({reason}); download the model again.",
                        file=file,
                        reason=str(error),
                    )
                ) from None
    if places:
        raise ModelError(
            Sentence(
                "{model_dir} lacks the weights {name}; download the model again.",
                model_dir=model_dir,
                name=next(iter(places)),
            )
        )
    decoder.freeze()


def _ignored(name: str, decoder: Decoder) -> bool:
    """Tensors that some checkpoints carry although they follow from others."""
    tied_head = decoder.config.tie_embeddings and name == "lm_head.weight"
    return tied_head or name.endswith("rotary_emb.inv_freq")


def _fill(places: dict[str, Tensor], name: str, tensors: Any, shard: Shard, file: Path) -> int:
    """Gives the bytes of the place that is filled now."""
    place = places.pop(name, None)
    if place is None:
        raise ModelError(
            Sentence(
                "{file} holds the weights {name}, which this kind of model does not have.",
                file=file,
                name=name,
            )
        )
    stored = tensors.get_slice(name)
    found: list[int] = stored.get_shape()
    part = shard.part(name, found) if len(found) == place.dim() else None
    own = found if part is None else part.shape(found)
    if own != list(place.shape):
        raise ModelError(
            Sentence(
                "{name} in {file} has the shape {found}, not {shape} as configured.",
                name=name,
                file=file,
                found=own,
                shape=list(place.shape),
            )
        )
    place.copy_(tensors.get_tensor(name) if part is None else part.of(stored))
    return place.nbytes


def dummy_weights(decoder: Decoder, seed: int = 0) -> None:
    """Random weights that depend on the seed and each tensor's name alone; norms are ones.

    They are those of the whole model, however many ranks have a part of it.
    """
    whole = Decoder(decoder.config, 1, decoder.norm.dtype, torch.device("meta")).destinations()
    with torch.inference_mode():
        for name, place in decoder.destinations().items():
            if name.endswith("norm.weight"):
                place.fill_(1)
                continue
            part = decoder.shard.part(name, whole[name].shape)
            target = place if part is None else torch.empty_like(whole[name], device=place.device)
            generator = torch.Generator(place.device).manual_seed(zlib.crc32(f"{seed} {name}".encode()))
            target.normal_(0, DUMMY_SPREAD, generator=generator)
            if part is not None:
                place.copy_(part.of(target))
    decoder.freeze()
