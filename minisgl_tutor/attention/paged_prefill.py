"""Attention of short prompts over the paged K/V pool, as one Triton kernel that a graph can hold.

The host cuts the new tokens into tiles of one row each; everything else is read on the
device. FlashInfer's is faster for long prompts, but is planned by the host for each step.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..engine.kv_cache import KVCache
from .base import TILE_TOKENS, AttentionPlan, PromptStep, Sink

KEYS_AT_ONCE = 64


@dataclass(frozen=True)
class PagedPromptPlan:
    step: PromptStep


class PagedPrefill:
    """``PromptBackend`` for any page size, group size and type."""

    def __init__(self, cache: KVCache) -> None:
        self.cache = cache

    def capture(self, step: PromptStep) -> PagedPromptPlan:
        return PagedPromptPlan(step)

    def sink(self, layer: int, plan: AttentionPlan) -> Sink:
        assert isinstance(plan, PagedPromptPlan)
        return Sink(self.cache.keys[layer], self.cache.values[layer], plan.step.locations)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        assert isinstance(plan, PagedPromptPlan)
        cache, step = self.cache, plan.step
        tokens, heads, dim = q.shape
        out = torch.empty(tokens, heads, dim, dtype=q.dtype, device=q.device)
        tiles = step.tiles.shape[1]
        attend_tile[(tiles, heads)](
            q,
            q.stride(0),
            cache.keys[layer],
            cache.values[layer],
            step.page_table,
            step.page_table.shape[1],
            step.tiles,
            tiles,
            out,
            dim**-0.5 * 1.4426950408889634,
            HEADS=heads,
            KV_HEADS=cache.num_heads,
            DIM=dim,
            DIM_BLOCK=max(16, triton.next_power_of_2(dim)),
            PAGE=cache.page_size,
            QUERIES=TILE_TOKENS,
            KEYS=KEYS_AT_ONCE,
            num_warps=4,
            num_stages=2,
        )
        return out


@triton.jit(do_not_specialize=["tiles"])
def attend_tile(
    q: tl.tensor,
    q_stride: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    page_table: tl.tensor,
    pages_per_row: tl.tensor,
    fields: tl.tensor,
    tiles: tl.tensor,
    out: tl.tensor,
    scale: tl.tensor,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    DIM: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
    PAGE: tl.constexpr,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
) -> None:
    """One tile of queries and one head; softmax is online, in base 2."""
    tile = tl.program_id(0)
    head = tl.program_id(1)
    count = tl.load(fields + tiles + tile)
    if count == 0:
        return
    first = tl.load(fields + tile)
    slot = tl.load(fields + 2 * tiles + tile).to(tl.int64)
    begin = tl.load(fields + 3 * tiles + tile)
    kv_head = head // (HEADS // KV_HEADS)
    table = page_table + slot * pages_per_row
    query = tl.arange(0, QUERIES)
    dim = tl.arange(0, DIM_BLOCK)
    member = (query < count)[:, None] & (dim < DIM)[None, :]
    token = (first + query).to(tl.int64)
    queries = tl.load(q + token[:, None] * q_stride + head * DIM + dim[None, :], mask=member, other=0.0)
    if keys.dtype.element_ty == tl.float8e4nv and queries.dtype == tl.bfloat16:
        # The hardware turns such keys and values into float16, without loss, and into nothing else.
        queries = queries.to(tl.float16)
    highest = tl.full([QUERIES], -float("inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    mixed = tl.zeros([QUERIES, DIM_BLOCK], tl.float32)
    end = begin + count
    for start in range(0, end, KEYS):
        position = start + tl.arange(0, KEYS)
        if PAGE % KEYS == 0:
            page = tl.load(table + start // PAGE).to(tl.int64)
            place = (page * KV_HEADS + kv_head) * PAGE + start % PAGE + tl.arange(0, KEYS)
        else:
            pages = tl.load(table + position // PAGE, mask=position < end, other=0).to(tl.int64)
            place = (pages * KV_HEADS + kv_head) * PAGE + position % PAGE
        # What lies behind the end is numbers, which the mask below makes count nothing.
        if DIM == DIM_BLOCK:
            some_keys = tl.load(keys + place[None, :] * DIM + dim[:, None])
            some_values = tl.load(values + place[:, None] * DIM + dim[None, :])
        else:
            some_keys = tl.load(
                keys + place[None, :] * DIM + dim[:, None], mask=dim[:, None] < DIM, other=0.0
            )
            some_values = tl.load(
                values + place[:, None] * DIM + dim[None, :], mask=dim[None, :] < DIM, other=0.0
            )
        scores = tl.dot(queries, some_keys.to(queries.dtype), input_precision="ieee") * scale
        scores = tl.where(position[None, :] <= begin + query[:, None], scores, -float("inf"))
        new_highest = tl.maximum(highest, tl.max(scores, 1))
        shares = tl.exp2(scores - new_highest[:, None])
        fade = tl.exp2(highest - new_highest)
        total = total * fade + tl.sum(shares, 1)
        some_values = some_values.to(queries.dtype)
        mixed = mixed * fade[:, None]
        mixed = tl.dot(shares.to(queries.dtype), some_values, mixed, input_precision="ieee")
        highest = new_highest
    mixed = mixed / total[:, None]
    place_out = (token * HEADS + head)[:, None] * DIM + dim[None, :]
    tl.store(out + place_out, mixed.to(out.dtype.element_ty), mask=member)
