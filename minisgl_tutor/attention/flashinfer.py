"""Attention by FlashInfer: fast prefill on NVIDIA GPUs, and a decode for graphs. Planned on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import triton
import triton.language as tl
from flashinfer import BatchDecodeWithPagedKVCacheWrapper, BatchPrefillWithPagedKVCacheWrapper
from flashinfer.decode import fast_decode_plan
from torch import Tensor

from ..engine.kv_cache import KVCache
from .base import AttentionBatch, AttentionPlan, DecodeStep, Sink

WORKSPACE_BYTES = 256 << 20
CUDA_CORE_GROUPS = (1, 2, 3, 4, 6, 8)
"""Query heads per K/V head that FlashInfer's decode without tensor cores knows."""


@dataclass(frozen=True)
class PrefillPlan:
    locations: Tensor


class FlashInferPrefill:
    """``AttentionBackend`` for any mix of rows. FlashInfer chooses the kernel (FA3 on Hopper)."""

    def __init__(self, cache: KVCache, num_heads: int) -> None:
        self.cache = cache
        self.num_heads = num_heads
        workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=cache.keys.device)
        self._wrapper = BatchPrefillWithPagedKVCacheWrapper(workspace, "HND")
        self._planned = torch.cuda.Event()

    def plan(self, batch: AttentionBatch) -> PrefillPlan:
        size = self.cache.page_size
        counts = -(-batch.seq_lens // size)
        indptr = _running_sum(counts)
        rows = np.repeat(np.arange(len(counts)), counts)
        columns = np.arange(indptr[-1]) - indptr[rows]
        index = torch.from_numpy(rows * batch.pages.shape[1] + columns).pin_memory()
        pages = batch.pages.flatten()[index.to(batch.pages.device, non_blocking=True)].int()
        new_lens = batch.seq_lens - batch.cached_lens
        # The plan passes through the wrapper's one pinned buffer: the last one must have left it.
        self._planned.synchronize()
        self._wrapper.plan(
            torch.from_numpy(_running_sum(new_lens)),
            torch.from_numpy(indptr),
            pages,
            torch.from_numpy(((batch.seq_lens - 1) % size + 1).astype(np.int32)),
            self.num_heads,
            self.cache.num_heads,
            self.cache.keys.shape[-1],
            size,
            causal=True,
            q_data_type=self.cache.dtype,
            kv_data_type=self.cache.stored,
            seq_lens=torch.from_numpy(batch.seq_lens.astype(np.int32)),
            max_token_per_sequence=int(new_lens.max()),
        )
        self._planned.record()
        return PrefillPlan(batch.locations)

    def sink(self, layer: int, plan: AttentionPlan) -> Sink:
        assert isinstance(plan, PrefillPlan)
        return Sink(self.cache.keys[layer], self.cache.values[layer], plan.locations)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        assert isinstance(plan, PrefillPlan)
        out: Tensor = self._wrapper.run(q, (self.cache.keys[layer], self.cache.values[layer]))
        return out


@dataclass(frozen=True)
class DecodePlan:
    """``wrapper`` is FlashInfer's; ``indptr`` and ``last_page_lens`` are what it reads on the device."""

    step: DecodeStep
    wrapper: Any
    indptr: Tensor
    last_page_lens: Tensor


class FlashInferDecode:
    """``DecodeBackend``: a wrapper for each captured size, planned anew before each replay."""

    def __init__(self, cache: KVCache, num_heads: int) -> None:
        self.cache = cache
        self.num_heads = num_heads
        self.tensor_cores = num_heads // cache.num_heads not in CUDA_CORE_GROUPS
        self._workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device=cache.keys.device)
        self._plans: dict[int, DecodePlan] = {}
        self._planned = torch.cuda.Event()

    def capture(self, step: DecodeStep) -> DecodePlan:
        """The first call for a size plans it; the second one is then captured."""
        rows = len(step.slots)
        if rows not in self._plans:
            self._plans[rows] = self._new_plan(step)
        known = self._plans[rows]
        plan = DecodePlan(step, known.wrapper, known.indptr, known.last_page_lens)
        _list_pages[(rows,)](
            step.page_table,
            step.page_table.shape[1],
            step.slots,
            step.seq_lens,
            plan.indptr,
            plan.wrapper._paged_kv_indices_buf,
            PAGE=self.cache.page_size,
            BLOCK=128,
            num_warps=1,
        )
        return plan

    def prepare(self, plan: AttentionPlan, seq_lens: np.ndarray) -> None:
        assert isinstance(plan, DecodePlan)
        size = self.cache.page_size
        indptr = torch.from_numpy(_running_sum(-(-seq_lens // size)))
        last_page_lens = torch.from_numpy((seq_lens - 1) % size + 1)
        self._planned.synchronize()
        plan.indptr.copy_(indptr.pin_memory(), non_blocking=True)
        plan.last_page_lens.copy_(last_page_lens.pin_memory(), non_blocking=True)
        fast_decode_plan(
            plan.wrapper,
            indptr,
            plan.wrapper._paged_kv_indices_buf,
            last_page_lens,
            self.num_heads,
            self.cache.num_heads,
            self.cache.keys.shape[-1],
            size,
            q_data_type=self.cache.dtype,
            kv_data_type=self.cache.stored,
            global_override_indptr_cpu=indptr,
        )
        self._planned.record()

    def sink(self, layer: int, plan: AttentionPlan) -> Sink:
        assert isinstance(plan, DecodePlan)
        return Sink(self.cache.keys[layer], self.cache.values[layer], plan.step.locations)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        assert isinstance(plan, DecodePlan)
        out: Tensor = plan.wrapper.run(q, (self.cache.keys[layer], self.cache.values[layer]))
        return out

    def _new_plan(self, step: DecodeStep) -> DecodePlan:
        rows, device = len(step.slots), step.slots.device
        indptr = torch.arange(rows + 1, dtype=torch.int32, device=device)
        last_page_lens = torch.ones(rows, dtype=torch.int32, device=device)
        pages = torch.zeros(rows * step.page_table.shape[1], dtype=torch.int32, device=device)
        wrapper = BatchDecodeWithPagedKVCacheWrapper(
            self._workspace,
            "HND",
            use_cuda_graph=True,
            use_tensor_cores=self.tensor_cores,
            paged_kv_indptr_buffer=indptr,
            paged_kv_indices_buffer=pages,
            paged_kv_last_page_len_buffer=last_page_lens,
        )
        wrapper.plan(
            indptr.cpu(),
            pages[:rows],
            last_page_lens.cpu(),
            self.num_heads,
            self.cache.num_heads,
            self.cache.keys.shape[-1],
            self.cache.page_size,
            q_data_type=self.cache.dtype,
            kv_data_type=self.cache.stored,
        )
        return DecodePlan(step, wrapper, indptr, last_page_lens)


def _running_sum(counts: np.ndarray) -> np.ndarray:
    sums = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=sums[1:])
    return sums


@triton.jit
def _list_pages(
    page_table: tl.tensor,
    pages_per_row: tl.tensor,
    slots: tl.tensor,
    seq_lens: tl.tensor,
    indptr: tl.tensor,
    pages: tl.tensor,
    PAGE: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    """The rows' pages one after the other, as FlashInfer reads them."""
    row = tl.program_id(0)
    table = page_table + tl.load(slots + row).to(tl.int64) * pages_per_row
    count = (tl.load(seq_lens + row) + PAGE - 1) // PAGE
    first = tl.load(indptr + row)
    for start in range(0, count, BLOCK):
        column = start + tl.arange(0, BLOCK)
        page = tl.load(table + column, mask=column < count)
        tl.store(pages + first + column, page, mask=column < count)
