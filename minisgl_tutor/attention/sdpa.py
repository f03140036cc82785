"""Attention by PyTorch's ``scaled_dot_product_attention``: runs everywhere, the only one on a CPU."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from minisgl_tutor.attention.base import AttentionBatch, AttentionPlan
from minisgl_tutor.engine.kv_cache import KVCache


@dataclass(frozen=True)
class PrefillRow:
    """One row with several new tokens: which they are, its pages, and who may see whom.

    ``mask`` is [new, all] with true for visible; ``None`` where nothing is cached and plain causality holds.
    """

    start: int
    end: int
    seq_len: int
    pages: Tensor
    mask: Tensor | None


@dataclass(frozen=True)
class DecodeGroup:
    """Rows with one new token each and similar lengths, padded to the longest.

    ``rows`` are token indices; ``pages`` is [rows, pages]; ``mask`` is
    [rows, 1, 1, pages * page_size] with true for a token of the row.
    """

    rows: Tensor
    pages: Tensor
    mask: Tensor


@dataclass(frozen=True)
class SDPAPlan:
    """``prefill`` and ``decode`` together cover the rows of a step."""

    locations: Tensor
    prefill: list[PrefillRow]
    decode: list[DecodeGroup]


class SDPABackend:
    """Gathers a row's pages and attends over them: prefill row by row, decode in padded groups."""

    def __init__(self, cache: KVCache, page_size: int, max_padding: float = 0.25) -> None:
        self.cache = cache
        self.page_size = page_size
        self.max_padding = max_padding

    def plan(self, batch: AttentionBatch) -> SDPAPlan:
        new_lens = batch.seq_lens - batch.cached_lens
        ends = np.cumsum(new_lens)
        prefill = [
            self._prefill_row(batch, int(row), int(ends[row] - new_lens[row]), int(ends[row]))
            for row in np.flatnonzero(new_lens > 1)
        ]
        single = np.flatnonzero(new_lens == 1)
        decode = [self._decode_group(batch, rows, ends) for rows in self._similar(batch.seq_lens, single)]
        return SDPAPlan(batch.locations, prefill, decode)

    def _prefill_row(self, batch: AttentionBatch, row: int, start: int, end: int) -> PrefillRow:
        seq_len, cached = int(batch.seq_lens[row]), int(batch.cached_lens[row])
        pages = batch.pages[row, : -(-seq_len // self.page_size)]
        mask = None
        if cached:
            shape = (end - start, seq_len)
            mask = torch.ones(shape, dtype=torch.bool, device=pages.device).tril(diagonal=cached)
        return PrefillRow(start, end, seq_len, pages, mask)

    def _decode_group(self, batch: AttentionBatch, rows: np.ndarray, ends: np.ndarray) -> DecodeGroup:
        device = batch.pages.device
        lens = torch.from_numpy(batch.seq_lens[rows].astype(np.int64)).to(device)
        width = -(-int(batch.seq_lens[rows].max()) // self.page_size)
        mask = torch.arange(width * self.page_size, device=device) < lens[:, None]
        pages = batch.pages[torch.from_numpy(rows).to(device), :width]
        return DecodeGroup(torch.from_numpy(ends[rows] - 1).to(device), pages, mask[:, None, None, :])

    def _similar(self, seq_lens: np.ndarray, rows: np.ndarray) -> list[np.ndarray]:
        """Splits rows, longest first, so that in no group padding is more than ``max_padding`` of a row."""
        groups: list[list[int]] = []
        for row in sorted(rows.tolist(), key=lambda row: -int(seq_lens[row])):
            if groups and seq_lens[row] >= (1 - self.max_padding) * seq_lens[groups[-1][0]]:
                groups[-1].append(row)
            else:
                groups.append([row])
        return [np.array(group, dtype=np.int64) for group in groups]

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        assert isinstance(plan, SDPAPlan)
        self.cache.store(layer, plan.locations, k, v)
        out = torch.empty(q.shape, dtype=q.dtype, device=q.device)
        for row in plan.prefill:
            span = slice(row.start, row.end)
            out[span] = self._attend_row(q[span], k[span], v[span], layer, row)
        for group in plan.decode:
            out[group.rows] = self._attend_group(q[group.rows], layer, group)
        return out

    def _attend_row(self, q: Tensor, k: Tensor, v: Tensor, layer: int, row: PrefillRow) -> Tensor:
        if row.mask is not None:
            k, v = (pages[: row.seq_len] for pages in self.cache.gather(layer, row.pages))
        q, k, v = (x.transpose(0, 1)[None] for x in (q, k, v))
        causal = row.mask is None
        out = F.scaled_dot_product_attention(q, k, v, row.mask, is_causal=causal, enable_gqa=True)
        return out[0].transpose(0, 1)

    def _attend_group(self, q: Tensor, layer: int, group: DecodeGroup) -> Tensor:
        k, v = (x.transpose(1, 2) for x in self.cache.gather(layer, group.pages))
        # The query heads that share a K/V head take the place of several tokens: no copy of K and V.
        grouped = q.view(len(q), k.shape[1], -1, q.shape[-1])
        return F.scaled_dot_product_attention(grouped, k, v, group.mask).reshape(q.shape)
