"""Decode attention as Triton kernels that plan themselves on the device.

Reading K and V is all that decode attention costs, so the work must be even
over the whole GPU, however ragged the rows are. Once a step, one small kernel
cuts the rows into items of at most ``chunk`` tokens; in each layer a fixed
number of programs takes the items in turn, and what belongs together is merged.
The host takes no part: a captured step is replayed as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
from torch import Tensor

from ..engine.kv_cache import FP8, KVCache
from .base import AttentionPlan, DecodeStep, Sink
from .chain import chained
from .fp8_kernels import attend_pairs
from .paged_items import divide, merge
from .paged_kernels import attend

SPARE_ITEMS = 4096
"""So many items more than rows may there be."""

ITEM_COST = 48
"""Starting an item takes as long as reading so many tokens."""


@dataclass(frozen=True)
class Shape:
    """How the kernel is laid out: ``tile`` tokens at a time, ``programs`` on each multiprocessor."""

    tile: int = 64
    programs: int = 4
    warps: int = 4
    stages: int = 3


@dataclass(frozen=True)
class PagedPlan:
    """Item ``i`` is part of row ``item_rows[i]``.

    A row's items begin at ``first_items[row]``, but its last one is ``last_items[row]``.
    ``totals`` holds the chunk, the number of items that are none's last, and that of all.
    ``partial`` and ``weights`` hold what is not merged yet: a result by item and head,
    and the logarithm of its share.
    """

    step: DecodeStep
    totals: Tensor
    first_items: Tensor
    last_items: Tensor
    item_rows: Tensor
    partial: Tensor
    weights: Tensor


class PagedDecode:
    """``DecodeBackend`` without a host part, for any page size, group size and type."""

    def __init__(self, cache: KVCache, num_heads: int, max_rows: int, shape: Shape | None = None) -> None:
        self.cache = cache
        self.num_heads = num_heads
        self.shape = shape or Shape()
        device = cache.keys.device
        self.programs = self.shape.programs * _multiprocessors(device)
        self.max_rows = max_rows
        self.max_items = max_rows + SPARE_ITEMS
        heads_dim = (self.max_items, num_heads, cache.keys.shape[-1])
        # Steps run one after the other, so they share what they need in passing.
        self._partial = torch.empty(heads_dim, dtype=torch.float32, device=device)
        self._weights = torch.empty(heads_dim[:2], dtype=torch.float32, device=device)
        self._totals = torch.zeros(3, dtype=torch.int32, device=device)
        self._first_items, self._last_items = torch.zeros(2, max_rows, dtype=torch.int32, device=device)
        self._item_rows = torch.zeros(self.max_items, dtype=torch.int32, device=device)

    def capture(self, step: DecodeStep) -> PagedPlan:
        rows = len(step.slots)
        plan = PagedPlan(
            step,
            totals=self._totals,
            first_items=self._first_items,
            last_items=self._last_items,
            item_rows=self._item_rows,
            partial=self._partial,
            weights=self._weights,
        )
        divide[(1,)](
            step.seq_lens,
            step.live,
            plan.totals,
            plan.first_items,
            plan.last_items,
            plan.item_rows,
            rows,
            self.max_items,
            self.cache.num_heads,
            PROGRAMS=self.programs,
            TILE=self.shape.tile,
            # Two sizes of the kernel are enough: it takes long to compile.
            BLOCK=16 if rows <= 16 else triton.next_power_of_2(self.max_rows),
            ITEM_COST=ITEM_COST,
            num_warps=4,
        )
        return plan

    def prepare(self, plan: AttentionPlan, seq_lens: np.ndarray) -> None:
        """Nothing: the device plans."""

    def sink(self, layer: int, plan: AttentionPlan) -> Sink:
        assert isinstance(plan, PagedPlan)
        return Sink(self.cache.keys[layer], self.cache.values[layer], plan.step.locations)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        assert isinstance(plan, PagedPlan)
        cache, shape, step = self.cache, self.shape, plan.step
        rows, heads, dim = q.shape
        out = torch.empty(rows, heads, dim, dtype=q.dtype, device=q.device)
        block_dim = max(16, triton.next_power_of_2(dim))
        kernel, pool_type = self._kernel(q, block_dim)
        kernel[(self.programs,)](
            q,
            q.stride(0),
            cache.keys[layer].view(pool_type),
            cache.values[layer].view(pool_type),
            step.page_table,
            step.page_table.shape[1],
            step.slots,
            step.seq_lens,
            plan.totals,
            plan.first_items,
            plan.item_rows,
            out,
            plan.partial,
            plan.weights,
            dim**-0.5 * 1.4426950408889634,
            HEADS=heads,
            KV_HEADS=cache.num_heads,
            GROUP=heads // cache.num_heads,
            GROUP_BLOCK=max(16, triton.next_power_of_2(heads // cache.num_heads)),
            DIM=dim,
            DIM_BLOCK=block_dim,
            PAGE=cache.page_size,
            TILE=shape.tile,
            PROGRAMS=self.programs,
            num_warps=shape.warps,
            STAGES=shape.stages,
            **chained(rows),
        )
        merge[(rows, heads)](
            step.seq_lens,
            step.live,
            plan.totals,
            plan.first_items,
            plan.last_items,
            out,
            plan.partial,
            plan.weights,
            HEADS=heads,
            DIM=dim,
            DIM_BLOCK=block_dim,
            PARTS=8,
            num_warps=2,
            **chained(rows),
        )
        return out

    def _kernel(self, q: Tensor, block_dim: int) -> tuple[Any, torch.dtype]:
        """The attention kernel, and the type that it reads the pool as."""
        paired = self.cache.stored == FP8 and q.dtype != torch.float32 and q.shape[-1] == block_dim >= 32
        return (attend_pairs, torch.int16) if paired else (attend, self.cache.stored)


def _multiprocessors(device: torch.device) -> int:
    if device.type != "cuda":
        return 1
    return int(torch.cuda.get_device_properties(device).multi_processor_count)
