"""Decode attention over items of rows, with keys and values in any type (see ``paged_items``)."""

from __future__ import annotations

import triton
import triton.language as tl

from .chain import follow
from .paged_items import leave, places, span


@triton.jit
def attend(
    q: tl.tensor,
    q_stride: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    page_table: tl.tensor,
    pages_per_row: tl.tensor,
    slots: tl.tensor,
    seq_lens: tl.tensor,
    totals: tl.tensor,
    first_items: tl.tensor,
    item_rows: tl.tensor,
    out: tl.tensor,
    partial: tl.tensor,
    weights: tl.tensor,
    scale: tl.tensor,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    GROUP: tl.constexpr,
    GROUP_BLOCK: tl.constexpr,
    DIM: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
    PAGE: tl.constexpr,
    TILE: tl.constexpr,
    PROGRAMS: tl.constexpr,
    STAGES: tl.constexpr,
) -> None:
    """Takes every ``PROGRAMS``-th pair of item and K/V head; softmax is online, in base 2."""
    follow()
    chunk = tl.load(totals)
    all_full = tl.load(totals + 1)
    group = tl.arange(0, GROUP_BLOCK)
    dim = tl.arange(0, DIM_BLOCK)
    member = (group < GROUP)[:, None] & (dim < DIM)[None, :]
    work_end = tl.load(totals + 2) * KV_HEADS
    for work in tl.range(tl.program_id(0), work_end, PROGRAMS, num_stages=1):
        item = work // KV_HEADS
        head = work % KV_HEADS
        row, seq_len, begin, end = span(item, chunk, all_full, first_items, item_rows, seq_lens)
        table = page_table + tl.load(slots + row).to(tl.int64) * pages_per_row
        heads = head * GROUP + group
        queries = tl.load(
            q + row.to(tl.int64) * q_stride + heads[:, None] * DIM + dim[None, :], mask=member, other=0.0
        )
        if keys.dtype.element_ty == tl.float8e4nv and queries.dtype == tl.bfloat16:
            # The hardware turns such keys and values into float16, without loss, and into nothing else.
            queries = queries.to(tl.float16)
        highest = tl.full([GROUP_BLOCK], -float("inf"), tl.float32)
        total = tl.zeros([GROUP_BLOCK], tl.float32)
        mixed = tl.zeros([GROUP_BLOCK, DIM_BLOCK], tl.float32)
        for start in tl.range(begin, end, TILE, num_stages=STAGES):
            position = start + tl.arange(0, TILE)
            place = places(table, head, start, position, end, KV_HEADS, PAGE, TILE)
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
            scores = tl.where(position[None, :] < end, scores, -float("inf"))
            new_highest = tl.maximum(highest, tl.max(scores, 1))
            shares = tl.exp2(scores - new_highest[:, None])
            fade = tl.exp2(highest - new_highest)
            total = total * fade + tl.sum(shares, 1)
            mixed = mixed * fade[:, None]
            some_values = some_values.to(queries.dtype)
            mixed = tl.dot(shares.to(queries.dtype), some_values, mixed, input_precision="ieee")
            highest = new_highest
        mixed = mixed / total[:, None]
        weight = highest + tl.log2(total)
        whole = seq_len <= chunk
        leave(
            mixed,
            weight,
            item,
            row,
            whole,
            out,
            partial,
            weights,
            heads,
            group < GROUP,
            HEADS,
            DIM,
            DIM_BLOCK,
        )
