"""Each tensor of a checkpoint reaches its place, or a sentence says which does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from minisgl_tutor.models.errors import ModelError  # noqa: E402
from minisgl_tutor.models.weights import dummy_weights, load_weights  # noqa: E402

Checkpoint = tuple[Path, dict[str, Any]]


def change(directory: Path, file: str, **changes: Any) -> None:
    """Replaces tensors of a shard; ``None`` takes one out."""
    tensors = {**load_file(directory / file), **changes}
    save_file({name: tensor for name, tensor in tensors.items() if tensor is not None}, directory / file)


def test_shards_fill_every_place(decoder: Callable[..., Any], checkpoint: Checkpoint) -> None:
    directory, tensors = checkpoint
    filled = decoder()
    load_weights(filled, directory)
    places = filled.destinations()
    assert places.keys() == tensors.keys()
    for name, place in places.items():
        assert torch.equal(place, tensors[name])
    # The places are parts of the tensors that the model computes with.
    attention = filled.layers[1].attention
    parts = [tensors[f"model.layers.1.self_attn.{name}_proj.weight"] for name in "qkv"]
    assert torch.equal(attention.qkv.weight, torch.cat(parts))


def test_a_single_file_without_index(decoder: Callable[..., Any], checkpoint: Checkpoint) -> None:
    directory, tensors = checkpoint
    for file in directory.glob("model*"):
        file.unlink()
    save_file(tensors, directory / "anything.safetensors")
    filled = decoder()
    load_weights(filled, directory)
    assert torch.equal(filled.embedding.weight, tensors["model.embed_tokens.weight"])


def test_weights_are_converted(decoder: Callable[..., Any], checkpoint: Checkpoint) -> None:
    directory, tensors = checkpoint
    filled = decoder("bfloat16")
    load_weights(filled, directory)
    assert torch.equal(filled.embedding.weight, tensors["model.embed_tokens.weight"].bfloat16())


def test_tied_weights_are_one(decoder: Callable[..., Any], checkpoint: Checkpoint) -> None:
    directory, tensors = checkpoint
    filled = decoder(tie_word_embeddings=True)
    load_weights(filled, directory)  # The head that the file carries as well counts for nothing.
    assert filled.head.weight is filled.embedding.weight
    assert torch.equal(filled.embedding.weight, tensors["model.embed_tokens.weight"])


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda d: (d / "model-2.safetensors").unlink(), r"model-2\.safetensors is missing"),
        (lambda d: (d / "model-2.safetensors").write_bytes(b"?" * 100), r"model-2\.safetensors is damaged"),
        (lambda d: (d / "model-2.safetensors").write_bytes(b""), "is damaged"),
        (
            lambda d: (d / "model-2.safetensors").write_bytes((d / "model-2.safetensors").read_bytes()[:-9]),
            "is damaged",
        ),
        (lambda d: change(d, "model-1.safetensors", **{"lm_head.weight": None}), "lacks the weights lm_head"),
        (
            lambda d: change(d, "model-1.safetensors", extra=torch.ones(2)),
            "holds the weights extra, which this kind of model does not have",
        ),
        (
            lambda d: change(d, "model-1.safetensors", **{"lm_head.weight": torch.ones(3, 16)}),
            r"lm_head\.weight in .* has the shape \[3, 16\], not \[32, 16\]",
        ),
        (lambda d: (d / "model.safetensors.index.json").write_text("{}"), "has no weight_map"),
        (lambda d: (d / "model.safetensors.index.json").write_text("{"), "not valid JSON"),
        (lambda d: [file.unlink() for file in d.glob("model*")], r"holds no \*\.safetensors file"),
    ],
)
def test_a_damaged_checkpoint(
    decoder: Callable[..., Any], checkpoint: Checkpoint, damage: Callable[[Path], object], sentence: str
) -> None:
    damage(checkpoint[0])
    with pytest.raises(ModelError, match=sentence) as caught:
        load_weights(decoder(), checkpoint[0])
    assert "\n" not in str(caught.value)


def test_old_extras_are_passed_over(decoder: Callable[..., Any], checkpoint: Checkpoint) -> None:
    directory, _ = checkpoint
    name = "model.layers.0.self_attn.rotary_emb.inv_freq"
    change(directory, "model-1.safetensors", **{name: torch.ones(4)})
    load_weights(decoder(), directory)


def test_dummy_weights_are_repeatable_and_sane(decoder: Callable[..., Any]) -> None:
    first, second, third = decoder(), decoder(), decoder(num_hidden_layers=3)
    for model in (first, second, third):
        dummy_weights(model)
    places = first.destinations()
    for name, place in places.items():
        assert torch.equal(place, second.destinations()[name])
        assert torch.equal(place, third.destinations()[name])
        assert place.eq(1).all() if name.endswith("norm.weight") else 0.01 < place.std() < 0.03
    assert not torch.equal(places["model.embed_tokens.weight"], places["lm_head.weight"])
    dummy_weights(second, seed=1)
    assert not torch.equal(second.embedding.weight, first.embedding.weight)


def test_an_index_that_leads_out_of_the_directory(
    decoder: Callable[..., Any], checkpoint: Checkpoint
) -> None:
    directory, _ = checkpoint
    index = {"weight_map": {"a": "../elsewhere.safetensors"}}
    (directory / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match="is missing"):
        load_weights(decoder(), directory)
