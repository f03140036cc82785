"""Attention by PyTorch's ``scaled_dot_product_attention``: runs everywhere, the only one on a CPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..engine.kv_cache import KVCache
from .base import AttentionBatch, AttentionPlan

MAX_PADDING = 0.25
"""The largest part of a row in a decode group that may be padding."""


@dataclass(frozen=True)
class PrefillRow:
    """One row with several new tokens, which are those from ``start`` to ``end`` - 1 of the step.

    ``pages`` is for ``KVCache.gather``. ``mask`` [new, all] is true for visible;
    ``None`` where nothing is cached and plain causality holds.
    """

    start: int
    end: int
    seq_len: int
    pages: Tensor
    mask: Tensor | None


@dataclass(frozen=True)
class DecodeGroup:
    """Rows with one new token each and similar lengths, padded to the longest.

    ``tokens`` are the new tokens' indices in the step; ``pages`` is for
    ``KVCache.gather``; ``mask`` [rows, 1, 1, width] is true for a token of the row.
    """

    tokens: Tensor
    pages: Tensor
    width: int
    mask: Tensor


@dataclass(frozen=True)
class SDPAPlan:
    """``prefill`` and ``decode`` together cover the rows of a step; ``new`` is for ``KVCache.store``."""

    new: Tensor
    prefill: list[PrefillRow]
    decode: list[DecodeGroup]


class SDPABackend:
    """Gathers a row's pages and attends over them: prefill row by row, decode in padded groups."""

    def __init__(self, cache: KVCache) -> None:
        self.cache = cache

    def plan(self, batch: AttentionBatch) -> SDPAPlan:
        new_lens = batch.seq_lens - batch.cached_lens
        ends = np.cumsum(new_lens)
        longer, single = np.flatnonzero(new_lens > 1), np.flatnonzero(new_lens == 1)
        return SDPAPlan(
            self.cache.token_index(batch.locations),
            [self._prefill_row(batch, row, int(ends[row])) for row in longer.tolist()],
            [self._decode_group(batch, rows, ends) for rows in similar(batch.seq_lens, single)],
        )

    def _prefill_row(self, batch: AttentionBatch, row: int, end: int) -> PrefillRow:
        seq_len, cached = int(batch.seq_lens[row]), int(batch.cached_lens[row])
        new = seq_len - cached
        pages = self.cache.page_index(batch.pages[row, None, : self._pages_of(seq_len)])
        mask = None
        if cached:
            mask = torch.ones(new, seq_len, dtype=torch.bool, device=pages.device).tril(diagonal=cached)
        return PrefillRow(end - new, end, seq_len, pages, mask)

    def _decode_group(self, batch: AttentionBatch, rows: np.ndarray, ends: np.ndarray) -> DecodeGroup:
        device = batch.pages.device
        index = torch.from_numpy(rows).to(device)
        seq_lens = torch.from_numpy(batch.seq_lens[rows]).to(device)
        width = int(batch.seq_lens[rows].max())
        return DecodeGroup(
            tokens=torch.from_numpy(ends[rows] - 1).to(device),
            pages=self.cache.page_index(batch.pages[index, : self._pages_of(width)]),
            width=width,
            mask=(torch.arange(width, device=device) < seq_lens[:, None])[:, None, None],
        )

    def _pages_of(self, tokens: int) -> int:
        return -(-tokens // self.cache.page_size)

    def sink(self, layer: int, plan: AttentionPlan) -> None:
        """None: whole rows are attended to as they come, and stored here."""

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        assert isinstance(plan, SDPAPlan)
        k, v = self.cache.store(layer, plan.new, k, v)
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        for row in plan.prefill:
            span = slice(row.start, row.end)
            out[span] = self._attend_row(q[span], k[span], v[span], layer, row)
        for group in plan.decode:
            attended = self._attend_group(q.index_select(0, group.tokens), layer, group)
            out.index_copy_(0, group.tokens, attended)
        return out

    def _attend_row(self, q: Tensor, k: Tensor, v: Tensor, layer: int, row: PrefillRow) -> Tensor:
        q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
        if row.mask is not None:
            k, v = (x[:, :, : row.seq_len] for x in self.cache.gather(layer, row.pages))
        causal = row.mask is None
        out = F.scaled_dot_product_attention(q, k, v, row.mask, is_causal=causal, enable_gqa=True)
        return out[0].transpose(0, 1)

    def _attend_group(self, q: Tensor, layer: int, group: DecodeGroup) -> Tensor:
        k, v = (x[:, :, : group.width] for x in self.cache.gather(layer, group.pages))
        # The query heads that share a K/V head take the place of several tokens: no copy of K and V.
        shared = q.view(len(q), k.shape[1], -1, q.shape[-1])
        return F.scaled_dot_product_attention(shared, k, v, group.mask).reshape(q.shape)


def similar(seq_lens: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
    """``rows`` in groups, longest first, in which padding is at most ``MAX_PADDING`` of the longest row."""
    groups: list[list[int]] = []
    for row in sorted(rows.tolist(), key=lambda row: -int(seq_lens[row])):
        if groups and seq_lens[row] >= (1 - MAX_PADDING) * seq_lens[groups[-1][0]]:
            groups[-1].append(row)
        else:
            groups.append([row])
    return [np.array(group, dtype=np.int64) for group in groups]
