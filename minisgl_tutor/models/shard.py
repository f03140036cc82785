"""Which part of a model one of several ranks has.

A rank has some of the attention heads, a span of the MLP's inner width and one of the
vocabulary. Each matrix is cut along the dimension that these lie in::

    rows of       q_proj k_proj v_proj   gate_proj up_proj   embed_tokens lm_head
    columns of    o_proj                 down_proj

so a rank's products need nothing of the others until ``o_proj`` and ``down_proj``, whose
results are added up over the ranks. All else every rank has whole.

K and V heads are shared by groups of query heads. Where a boundary between ranks falls into
such a group, as it must if there are more ranks than K/V heads, both have a copy of its K and V.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

import torch
from torch import Tensor

from .config import ModelConfig, check_ranks

Range = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """``ranges`` of dimension ``dim``, one after the other; they may repeat."""

    dim: int
    ranges: tuple[Range, ...]

    def shape(self, whole: Sequence[int]) -> list[int]:
        """The shape of this part of something of shape ``whole``."""
        size = sum(end - start for start, end in self.ranges)
        return [*whole[: self.dim], size, *whole[self.dim + 1 :]]

    def of(self, whole: Tensor) -> Tensor:
        """This part of a tensor, or of a slice of a safetensors file, of which it reads no more."""
        rows = (slice(None),) * self.dim
        pieces = [whole[(*rows, slice(start, end))] for start, end in self.ranges]
        return pieces[0] if len(pieces) == 1 else torch.cat(pieces, self.dim)


class Shard:
    """The part that rank ``rank`` of ``size`` has of a model.

    ``local`` is the model's configuration with the numbers of heads and the MLP's width
    that this rank has. ``vocab`` is its span of the vocabulary; all ranks make room
    for ``vocab_rows``, of which the last may not need all.

    Raises:
        ModelError: ``size`` does not divide the number of attention heads.
    """

    def __init__(self, config: ModelConfig, rank: int = 0, size: int = 1) -> None:
        check_ranks(config, size)
        self.rank = rank
        self.size = size
        heads, group = config.num_heads // size, config.num_heads // config.num_kv_heads
        # So many neighbouring query heads have the same K/V head, wherever a rank begins.
        sharing = gcd(heads, group)
        self.kv_heads = [head // group for head in range(rank * heads, (rank + 1) * heads, sharing)]
        self.local = replace(
            config,
            num_heads=heads,
            num_kv_heads=len(self.kv_heads),
            intermediate_size=_width(self._span(config.intermediate_size)),
            experts=config.experts
            and replace(config.experts, width=_width(self._span(config.experts.width))),
        )
        self.vocab_rows = -(-config.vocab_size // size)
        self.vocab = self._vocab_span(config.vocab_size)
        dim = config.head_dim
        self._kv_ranges = tuple((head * dim, (head + 1) * dim) for head in self.kv_heads)

    def part(self, name: str, shape: Sequence[int]) -> Part | None:
        """This rank's part of a checkpoint's tensor, by its name and whole shape; ``None`` for all of it."""
        if self.size == 1:
            return None
        owner = name.split(".")[-2]
        if owner in ("q_proj", "gate_proj", "up_proj"):
            return Part(0, (self._span(shape[0]),))
        if owner in ("k_proj", "v_proj"):
            return Part(0, self._kv_ranges)
        if owner in ("o_proj", "down_proj"):
            return Part(1, (self._span(shape[1]),))
        if owner in ("embed_tokens", "lm_head"):
            return Part(0, (self._vocab_span(shape[0]),))
        return None

    def _span(self, total: int) -> Range:
        return total * self.rank // self.size, total * (self.rank + 1) // self.size

    def _vocab_span(self, rows: int) -> Range:
        each = -(-rows // self.size)
        return min(rows, each * self.rank), min(rows, each * (self.rank + 1))


def _width(span: Range) -> int:
    return span[1] - span[0]
