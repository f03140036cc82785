"""The items of a decode step: cutting rows into them, what each covers, and putting a row's together again.

The kernels that attend to an item are ``paged_kernels.attend`` and ``fp8_kernels.attend_pairs``.
"""

from __future__ import annotations

import triton
import triton.language as tl

from .chain import follow


@triton.jit(do_not_specialize=["rows", "max_items"])
def divide(
    seq_lens: tl.tensor,
    live: tl.tensor,
    totals: tl.tensor,
    first_items: tl.tensor,
    last_items: tl.tensor,
    item_rows: tl.tensor,
    rows: tl.tensor,
    max_items: tl.tensor,
    kv_heads: tl.tensor,
    PROGRAMS: tl.constexpr,
    TILE: tl.constexpr,
    BLOCK: tl.constexpr,
    ITEM_COST: tl.constexpr,
) -> None:
    """Chooses the chunk that should take the least time, and lists the items, longest first.

    The last item of a row, which may be shorter than a chunk, stands behind all
    others; so programs that take items in turn end at about the same time.

    Larger chunks leave programs idle at the end, by half a chunk on average;
    each item costs as much as reading ``ITEM_COST`` more tokens.
    """
    row = tl.arange(0, BLOCK)
    lens = tl.load(seq_lens + row, mask=row < tl.load(live), other=0)
    best_chunk = TILE * 128
    best_cost = 2147483647
    for doublings in tl.static_range(8):
        chunk = TILE * 2**doublings
        items = tl.sum((lens + chunk - 1) // chunk)
        waves = (items * kv_heads + PROGRAMS - 1) // PROGRAMS
        # In one or two waves nothing evens out: the last program to finish has a whole chunk in each.
        cost = tl.where(waves <= 2, waves * (chunk + ITEM_COST), waves * ITEM_COST + chunk // 2)
        better = (cost < best_cost) & (items <= max_items)
        best_cost = tl.where(better, cost, best_cost)
        best_chunk = tl.where(better, chunk, best_chunk)
    full = tl.maximum((lens + best_chunk - 1) // best_chunk - 1, 0)
    firsts = tl.cumsum(full, 0) - full
    all_full = tl.sum(full)
    tl.store(totals, best_chunk)
    tl.store(totals + 1, all_full)
    tl.store(totals + 2, all_full + tl.load(live))
    tl.store(first_items + row, firsts, mask=row < rows)
    for part in range(0, tl.max(full)):
        tl.store(item_rows + firsts + part, row, mask=part < full)
    by_length = tl.sort((lens - full * best_chunk) * BLOCK + row, descending=True) % BLOCK
    is_live = row < tl.load(live)
    tl.store(item_rows + all_full + row, by_length, mask=is_live)
    tl.store(last_items + by_length, all_full + row, mask=is_live)


@triton.jit
def span(  # type: ignore[no-untyped-def]
    item: tl.tensor,
    chunk: tl.tensor,
    all_full: tl.tensor,
    first_items: tl.tensor,
    item_rows: tl.tensor,
    seq_lens: tl.tensor,
):
    """The row of an item, the row's length, and where in it the item begins and ends."""
    row = tl.load(item_rows + item)
    seq_len = tl.load(seq_lens + row)
    last_part = (seq_len + chunk - 1) // chunk - 1
    part = tl.where(item < all_full, item - tl.load(first_items + row), last_part)
    begin = part * chunk
    return row, seq_len, begin, tl.minimum(begin + chunk, seq_len)


@triton.jit
def places(  # type: ignore[no-untyped-def]
    table: tl.tensor,
    head: tl.tensor,
    start: tl.tensor,
    position: tl.tensor,
    end: tl.tensor,
    KV_HEADS: tl.constexpr,
    PAGE: tl.constexpr,
    TILE: tl.constexpr,
):
    """Where the keys and values of ``TILE`` positions from ``start`` on lie in the pool, counted in heads.

    Behind ``end`` lies what an earlier row left: numbers, which the caller masks.
    """
    if PAGE % TILE == 0:
        page = tl.load(table + start // PAGE).to(tl.int64)
        place = (page * KV_HEADS + head) * PAGE + start % PAGE + tl.arange(0, TILE)
    else:
        pages = tl.load(table + position // PAGE, mask=position < end, other=0).to(tl.int64)
        place = (pages * KV_HEADS + head) * PAGE + position % PAGE
    return place


@triton.jit
def leave(
    mixed: tl.tensor,
    weight: tl.tensor,
    item: tl.tensor,
    row: tl.tensor,
    whole: tl.tensor,
    out: tl.tensor,
    partial: tl.tensor,
    weights: tl.tensor,
    heads: tl.tensor,
    is_head: tl.tensor,
    HEADS: tl.constexpr,
    DIM: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
) -> None:
    """Stores an item's result as its row's, if it is ``whole``; else with a weight, for ``merge``."""
    dim = tl.arange(0, DIM_BLOCK)
    member = is_head[:, None] & (dim < DIM)[None, :]
    if whole:
        place = (row.to(tl.int64) * HEADS + heads)[:, None] * DIM + dim[None, :]
        tl.store(out + place, mixed.to(out.dtype.element_ty), mask=member)
    else:
        part = item.to(tl.int64) * HEADS + heads
        tl.store(partial + part[:, None] * DIM + dim[None, :], mixed, mask=member)
        tl.store(weights + part, weight, mask=is_head)


@triton.jit
def merge(
    seq_lens: tl.tensor,
    live: tl.tensor,
    totals: tl.tensor,
    first_items: tl.tensor,
    last_items: tl.tensor,
    out: tl.tensor,
    partial: tl.tensor,
    weights: tl.tensor,
    HEADS: tl.constexpr,
    DIM: tl.constexpr,
    DIM_BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
) -> None:
    """Adds up the parts of one row and head by their shares; a row of one part is complete already."""
    follow()
    row = tl.program_id(0)
    head = tl.program_id(1)
    chunk = tl.load(totals)
    parts = (tl.load(seq_lens + row) + chunk - 1) // chunk
    if (parts == 1) | (row >= tl.load(live)):
        return
    first = tl.load(first_items + row)
    last_item = tl.load(last_items + row)
    dim = tl.arange(0, DIM_BLOCK)
    highest = -float("inf")
    total = 0.0
    mixed = tl.zeros([DIM_BLOCK], tl.float32)
    for start in range(0, parts, PARTS):
        number = start + tl.arange(0, PARTS)
        inside = number < parts
        item = tl.where(number == parts - 1, last_item, first + number)
        part = item.to(tl.int64) * HEADS + head
        weight = tl.load(weights + part, mask=inside, other=-float("inf"))
        new_highest = tl.maximum(highest, tl.max(weight))
        share = tl.exp2(weight - new_highest)
        fade = tl.exp2(highest - new_highest)
        values = tl.load(
            partial + part[:, None] * DIM + dim[None, :],
            mask=inside[:, None] & (dim < DIM)[None, :],
            other=0.0,
        )
        total = total * fade + tl.sum(share)
        mixed = mixed * fade + tl.sum(values * share[:, None], 0)
        highest = new_highest
    mixed = mixed / total
    place = (row.to(tl.int64) * HEADS + head) * DIM + dim
    tl.store(out + place, mixed.to(out.dtype.element_ty), mask=dim < DIM)
