"""Decode attention over an 8-bit pool: ``attend`` of ``paged_kernels``, for queries of 16 bits.

Tensor cores have no product of 16-bit and 8-bit numbers, and keys and values of single bytes
reach them slowly: what turns a tile of shared memory over moves 16 bits at a time. So they are
read as pairs of neighbours in a head, and each pair becomes two numbers of float16 in the
registers that it is in. Even and odd dimensions are then heads of half the size: scores are
the sum of both, and results are put together at the end.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .chain import follow
from .paged_items import leave, places, span


@triton.jit
def unpack(pairs: tl.tensor):  # type: ignore[no-untyped-def]
    """The numbers in the low and in the high bytes of int16, as float16, which holds them all."""
    return tl.inline_asm_elementwise(
        """{
            .reg .b16 first, second;
            .reg .b32 both, others;
            mov.b32 {first, second}, $2;
            cvt.rn.f16x2.e4m3x2 both, first;
            cvt.rn.f16x2.e4m3x2 others, second;
            prmt.b32 $0, both, others, 0x5410;
            prmt.b32 $1, both, others, 0x7632;
        }""",
        "=r,=r,r",
        [pairs],
        dtype=(tl.float16, tl.float16),
        is_pure=True,
        pack=2,
    )


@triton.jit
def attend_pairs(
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
    """As ``attend``, with ``keys`` and ``values`` as int16; ``DIM`` must be a power of two, 32 at least."""
    follow()
    chunk = tl.load(totals)
    all_full = tl.load(totals + 1)
    group = tl.arange(0, GROUP_BLOCK)
    half = tl.arange(0, DIM // 2)
    work_end = tl.load(totals + 2) * KV_HEADS
    for work in tl.range(tl.program_id(0), work_end, PROGRAMS, num_stages=1):
        item = work // KV_HEADS
        head = work % KV_HEADS
        row, seq_len, begin, end = span(item, chunk, all_full, first_items, item_rows, seq_lens)
        table = page_table + tl.load(slots + row).to(tl.int64) * pages_per_row
        heads = head * GROUP + group
        query = q + row.to(tl.int64) * q_stride + heads[:, None] * DIM + 2 * half[None, :]
        is_query = (group < GROUP)[:, None] & (half < DIM // 2)[None, :]
        even_query = tl.load(query, mask=is_query, other=0.0).to(tl.float16)
        odd_query = tl.load(query + 1, mask=is_query, other=0.0).to(tl.float16)
        highest = tl.full([GROUP_BLOCK], -float("inf"), tl.float32)
        total = tl.zeros([GROUP_BLOCK], tl.float32)
        even = tl.zeros([GROUP_BLOCK, DIM // 2], tl.float32)
        odd = tl.zeros([GROUP_BLOCK, DIM // 2], tl.float32)
        for start in tl.range(begin, end, TILE, num_stages=STAGES):
            position = start + tl.arange(0, TILE)
            place = places(table, head, start, position, end, KV_HEADS, PAGE, TILE)
            even_keys, odd_keys = unpack(tl.load(keys + place[None, :] * (DIM // 2) + half[:, None]))
            even_values, odd_values = unpack(tl.load(values + place[:, None] * (DIM // 2) + half[None, :]))
            scores = tl.dot(odd_query, odd_keys, tl.dot(even_query, even_keys)) * scale
            scores = tl.where(position[None, :] < end, scores, -float("inf"))
            new_highest = tl.maximum(highest, tl.max(scores, 1))
            shares = tl.exp2(scores - new_highest[:, None])
            fade = tl.exp2(highest - new_highest)
            total = total * fade + tl.sum(shares, 1)
            shares = shares.to(tl.float16)
            even = tl.dot(shares, even_values, even * fade[:, None])
            odd = tl.dot(shares, odd_values, odd * fade[:, None])
            highest = new_highest
        mixed = tl.reshape(tl.join(even, odd), [GROUP_BLOCK, DIM_BLOCK]) / total[:, None]
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
