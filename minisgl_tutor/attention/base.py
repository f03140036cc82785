"""What the model knows of attention: a plan a step, then one call a layer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from torch import Tensor


@dataclass(frozen=True)
class AttentionBatch:
    """The rows of one step, for planning.

    Row ``r`` computes positions ``cached_lens[r]`` to ``seq_lens[r]`` - 1, whose
    tokens lie one row after the other; ``pages[r]`` names its pages in order, with
    anything behind the last one (device, int64, shape [rows, pages of the longest]).
    ``locations`` is where each new token's K and V go in the pool, counted in tokens
    (device, int64, shape [tokens]).
    """

    cached_lens: np.ndarray
    seq_lens: np.ndarray
    pages: Tensor
    locations: Tensor


class AttentionPlan(Protocol):
    """What a backend worked out for one step; opaque to the model."""


@dataclass(frozen=True)
class Sink:
    """Where in the pool one layer's new K and V go: at ``locations`` (int64), counted in tokens.

    ``keys`` and ``values`` have shape [pages, kv_heads, page_size, head_dim].
    """

    keys: Tensor
    values: Tensor
    locations: Tensor


class Attends(Protocol):
    """What the model calls."""

    def sink(self, layer: int, plan: AttentionPlan) -> Sink | None:
        """Where to put the new tokens' K and V before ``forward``; ``None`` if ``forward`` stores them."""
        ...

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        """Attends from each new token to its row up to itself.

        ``q`` has shape [tokens, heads, head_dim], as has the result; ``k`` and ``v``
        have the pool's head count.
        """
        ...


class AttentionBackend(Attends, Protocol):
    """Attention over the paged K/V pool, for any step."""

    def plan(self, batch: AttentionBatch) -> AttentionPlan:
        """Once a step, before the first layer. May work on the host while the device computes."""
        ...


@dataclass(frozen=True)
class DecodeStep:
    """The rows of a decode step that is captured once and replayed often, each with one new token.

    The tensors stay and their contents change: ``slots`` int32 names each row's row
    in ``page_table``; ``seq_lens`` int32 counts the new token; ``locations`` int64 is
    where its K and V go. Only the first ``live`` rows (int32, shape [1]) are real;
    the others use a slot and a page of their own, and nobody reads what they give.
    """

    page_table: Tensor
    slots: Tensor
    seq_lens: Tensor
    locations: Tensor
    live: Tensor


TILE_TOKENS = 64
"""So many new tokens of one row are a tile of a captured prefill step."""


@dataclass(frozen=True)
class PromptStep:
    """The rows of a prefill step that is captured once and replayed often.

    The tensors stay and their contents change. ``tiles`` (int32, shape [4, tiles]) has for
    each tile: its first token among those of the step, how many it has (0 where there is
    none), their row in ``page_table``, and the first one's position. ``locations`` (int64,
    shape [tokens]) is where each token's K and V go. Tokens that are in no tile use a row
    and a page of their own, and nobody reads what they give.
    """

    page_table: Tensor
    tiles: Tensor
    locations: Tensor


class PromptBackend(Attends, Protocol):
    """Attention for captured prefill steps."""

    def capture(self, step: PromptStep) -> AttentionPlan:
        """Called while the step is captured, before the first layer: device work that each replay repeats."""
        ...


class DecodeBackend(Attends, Protocol):
    """Attention for captured decode steps."""

    def capture(self, step: DecodeStep) -> AttentionPlan:
        """Called while the step is captured, before the first layer: device work that each replay repeats."""
        ...

    def prepare(self, plan: AttentionPlan, seq_lens: np.ndarray) -> None:
        """Before each replay, with the lengths of all rows: the part of the planning that is the host's."""
        ...
