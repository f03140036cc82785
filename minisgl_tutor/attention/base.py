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


class AttentionBackend(Protocol):
    """Attention over the paged K/V pool."""

    def plan(self, batch: AttentionBatch) -> AttentionPlan:
        """Once a step, before the first layer. May work on the host while the device computes."""
        ...

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        """Stores the new tokens' K and V, then attends from each to its row up to itself.

        ``q`` has shape [tokens, heads, head_dim], as has the result; ``k`` and ``v``
        have the pool's head count.
        """
        ...
