"""The ranks' parts are the whole model, put together, whatever its sizes and however many ranks there are."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file, save_file  # noqa: E402

from minisgl_tutor.models.config import parse_model_config  # noqa: E402
from minisgl_tutor.models.decoder import Decoder  # noqa: E402
from minisgl_tutor.models.errors import ModelError  # noqa: E402
from minisgl_tutor.models.shard import Part, Shard  # noqa: E402
from minisgl_tutor.models.weights import dummy_weights, load_weights  # noqa: E402

SHAPES = [
    (4, 2, 2),
    (4, 2, 4),
    (4, 4, 2),
    (6, 2, 3),
    (6, 2, 6),
    (15, 3, 5),
    (12, 4, 3),
    (40, 8, 5),
    (8, 1, 8),
]


def config(heads: int, kv_heads: int, **changes: Any) -> Any:
    sizes = {
        "hidden_size": 16,
        "intermediate_size": 26,
        "vocab_size": 35,
        "num_hidden_layers": 2,
        "head_dim": 4,
    }
    raw = {
        "architectures": ["Qwen2ForCausalLM"],
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
    }
    return parse_model_config({**raw, **sizes, **changes})


class OneOf:
    """A rank on its own, for looking at what it has: nobody answers it."""

    def __init__(self, rank: int, size: int) -> None:
        self.rank = rank
        self.size = size

    def all_reduce(self, x: Any) -> Any:
        return x

    def all_gather(self, x: Any) -> Any:
        return x

    def smallest(self, value: int) -> int:
        return value


def decoder(rank: int, size: int, model: Any) -> Decoder:
    return Decoder(model, 8, torch.float32, torch.device("cpu"), group=OneOf(rank, size))


@pytest.mark.parametrize(("heads", "kv_heads", "size"), SHAPES)
def test_every_query_head_is_once_there_with_its_own_keys_and_values(
    heads: int, kv_heads: int, size: int
) -> None:
    model = config(heads, kv_heads)
    seen = []
    for rank in range(size):
        shard = Shard(model, rank, size)
        local = shard.local
        assert local.num_heads * size == heads
        # As attention groups them: so many neighbouring query heads for each K/V head.
        group = local.num_heads // local.num_kv_heads
        assert group * local.num_kv_heads == local.num_heads
        for head in range(local.num_heads):
            whole_head = rank * local.num_heads + head
            assert shard.kv_heads[head // group] == whole_head // (heads // kv_heads)
            seen.append(whole_head)
    assert seen == list(range(heads))


def test_keys_and_values_are_copied_only_where_they_must_be() -> None:
    assert [Shard(config(8, 4), rank, 2).kv_heads for rank in range(2)] == [[0, 1], [2, 3]]
    assert [Shard(config(8, 2), rank, 4).kv_heads for rank in range(4)] == [[0], [0], [1], [1]]
    assert [Shard(config(6, 2), rank, 3).kv_heads for rank in range(3)] == [[0, 0], [0, 1], [1, 1]]


@pytest.mark.parametrize(("heads", "kv_heads", "size"), SHAPES)
def test_the_parts_put_together_are_the_whole(heads: int, kv_heads: int, size: int) -> None:
    model = config(heads, kv_heads)
    whole = decoder(0, 1, model)
    dummy_weights(whole)
    ranks = [decoder(rank, size, model) for rank in range(size)]
    for rank in ranks:
        dummy_weights(rank)
    parts = [rank.destinations() for rank in ranks]
    for name, tensor in whole.destinations().items():
        own = [part[name] for part in parts]
        owner = name.split(".")[-2]
        if owner in ("k_proj", "v_proj"):
            rows = tensor.view(kv_heads, -1, *tensor.shape[1:])
            for rank, piece in zip(ranks, own, strict=True):
                assert torch.equal(piece.view(-1, *rows.shape[1:]), rows[rank.shard.kv_heads])
        elif owner in ("q_proj", "gate_proj", "up_proj", "embed_tokens", "lm_head"):
            assert torch.equal(torch.cat(own), tensor), name
        elif owner in ("o_proj", "down_proj"):
            assert torch.equal(torch.cat(own, 1), tensor), name
        else:
            assert all(torch.equal(piece, tensor) for piece in own), name


def test_a_rank_reads_its_part_of_a_file_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = config(6, 2)
    whole = decoder(0, 1, model)
    dummy_weights(whole)
    save_file(
        {name: place.contiguous() for name, place in whole.destinations().items()}, tmp_path / "a.safetensors"
    )
    asked = []
    of = Part.of
    monkeypatch.setattr(Part, "of", lambda self, stored: asked.append(type(stored)) or of(self, stored))
    for rank in range(3):
        loaded, made = decoder(rank, 3, model), decoder(rank, 3, model)
        load_weights(loaded, tmp_path)
        read = len(asked)
        dummy_weights(made)
        for name, place in loaded.destinations().items():
            assert torch.equal(place, made.destinations()[name]), name
        # Slices of the file, not tensors read whole: matrices and biases of 2 layers, and 2 more.
        assert read == 2 * 10 + 2
        assert not any(issubclass(kind, torch.Tensor) for kind in asked[:read])
        asked.clear()


def test_a_shape_that_is_not_the_configured_one_is_refused(tmp_path: Path) -> None:
    model = config(4, 2)
    whole = decoder(0, 1, replace(model, intermediate_size=24))
    dummy_weights(whole)
    tensors = {name: place.contiguous() for name, place in whole.destinations().items()}
    save_file(tensors, tmp_path / "a.safetensors")
    with pytest.raises(ModelError, match=r"_proj\.weight in .* has the shape .* as configured"):
        load_weights(decoder(1, 2, model), tmp_path)
    assert load_file(tmp_path / "a.safetensors").keys() == tensors.keys()


@pytest.mark.parametrize("size", [3, 5, 8, 100])
def test_as_many_ranks_as_do_not_divide_the_heads_are_refused(size: int) -> None:
    with pytest.raises(ModelError, match=rf"--tp {size} does not divide the model's 4 .* one of 1, 2, 4\."):
        Shard(config(4, 2), 0, size)


def test_a_vocabulary_that_does_not_divide_leaves_the_last_rank_less() -> None:
    spans = [Shard(config(4, 2, vocab_size=10), rank, 4).vocab for rank in range(4)]
    assert spans == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert math.ceil(10 / 4) == Shard(config(4, 2, vocab_size=10), 3, 4).vocab_rows
