"""A mixture of experts on a GPU: the products of all experts in two launches, whatever was chosen.

Nothing depends on the router's choice but contents: shapes and launches are those of the
number of tokens. So a decode step with experts can be captured.

First each pair of token and expert is entered in its expert's list. A product then has a
program for each tile of a list; how many tiles there are is known on the device alone, so
there are programs for the most that can be, and those too many end at once.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

COLUMNS, DEPTH = 64, 64


def mix(x: Tensor, gate_up: Tensor, down: Tensor, chosen: Tensor, shares: Tensor) -> Tensor:
    """``Ops.mix``."""
    tokens, hidden = x.shape
    experts, width = gate_up.shape[0], down.shape[2]
    pairs = chosen.numel()
    rows = _tile_rows(pairs / experts)
    tiles = triton.cdiv(pairs, rows) + min(experts, pairs)
    counts = torch.zeros(experts, dtype=torch.int32, device=x.device)
    lists = torch.empty(experts, pairs, dtype=torch.int32, device=x.device)
    _list_pairs[(triton.cdiv(pairs, 128),)](chosen, counts, lists, pairs, BLOCK=128, num_warps=4)
    inner = torch.empty(pairs, width, dtype=x.dtype, device=x.device)
    out = torch.empty(pairs, hidden, dtype=x.dtype, device=x.device)
    sizes = {
        "EXPERTS": experts,
        "EXPERTS_BLOCK": triton.next_power_of_2(experts),
        "ROWS": rows,
        "COLUMNS": COLUMNS,
        "DEPTH": DEPTH if x.dtype.itemsize == 2 else DEPTH // 2,
        "num_warps": 4 if rows < 128 else 8,
        "num_stages": 3,
    }
    _gated_product[(tiles, triton.cdiv(width, COLUMNS))](
        x, gate_up, inner, counts, lists, pairs, hidden, width, CHOSEN=chosen.shape[1], **sizes
    )
    _shared_product[(tiles, triton.cdiv(hidden, COLUMNS))](
        inner, down, out, shares, counts, lists, pairs, width, hidden, **sizes
    )
    return out.view(tokens, -1, hidden).sum(1)


def _tile_rows(pairs_each: float) -> int:
    """Rows of a tile: not many more than an expert has to do, as rows that are none cost as much."""
    return next((rows for rows in (16, 32, 64) if pairs_each <= rows), 128)


@triton.jit(do_not_specialize=["pairs"])
def _list_pairs(
    chosen: tl.tensor,
    counts: tl.tensor,
    lists: tl.tensor,
    pairs: tl.tensor,
    BLOCK: tl.constexpr,
) -> None:
    """Enters pairs in their experts' lists. The order there is left to chance and changes no result."""
    pair = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = pair < pairs
    expert = tl.load(chosen + pair, mask=inside, other=0)
    place = tl.atomic_add(counts + expert, 1, mask=inside)
    tl.store(lists + expert.to(tl.int64) * pairs + place, pair, mask=inside)


@triton.jit
def _find_tile(counts: tl.tensor, EXPERTS: tl.constexpr, EXPERTS_BLOCK: tl.constexpr, ROWS: tl.constexpr):  # type: ignore[no-untyped-def]
    """The expert of this program's tile, its number of pairs, and which of them is the tile's first."""
    expert = tl.arange(0, EXPERTS_BLOCK)
    count = tl.load(counts + expert, mask=expert < EXPERTS, other=0)
    tiles = (count + ROWS - 1) // ROWS
    ends = tl.cumsum(tiles, 0)
    own = tl.sum((ends <= tl.program_id(0)).to(tl.int32))
    is_own = expert == own
    own_count = tl.sum(tl.where(is_own, count, 0))
    own_first = tl.program_id(0) - tl.sum(tl.where(is_own, ends - tiles, 0))
    return own, own_count, own_first * ROWS


@triton.jit(do_not_specialize=["pairs"])
def _gated_product(
    x: tl.tensor,
    gate_up: tl.tensor,
    inner: tl.tensor,
    counts: tl.tensor,
    lists: tl.tensor,
    pairs: tl.tensor,
    hidden: tl.tensor,
    width: tl.tensor,
    CHOSEN: tl.constexpr,
    EXPERTS: tl.constexpr,
    EXPERTS_BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
) -> None:
    """``silu(x @ gate.T) * (x @ up.T)`` by each pair's expert, a row a pair."""
    expert, count, first = _find_tile(counts, EXPERTS, EXPERTS_BLOCK, ROWS)
    if expert >= EXPERTS:
        return
    row = first + tl.arange(0, ROWS)
    pair = tl.load(lists + expert.to(tl.int64) * pairs + row, mask=row < count, other=0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    rows = x + (pair // CHOSEN).to(tl.int64)[:, None] * hidden
    gates = gate_up + (expert.to(tl.int64) * 2 * width + column)[None, :] * hidden
    gate = tl.zeros([ROWS, COLUMNS], tl.float32)
    up = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, hidden, DEPTH):
        at = start + depth
        some = tl.load(rows + at[None, :], mask=(row < count)[:, None] & (at < hidden)[None, :], other=0.0)
        inside = (at < hidden)[:, None] & (column < width)[None, :]
        some_gates = tl.load(gates + at[:, None], mask=inside, other=0.0)
        some_ups = tl.load(gates + width.to(tl.int64) * hidden + at[:, None], mask=inside, other=0.0)
        gate = tl.dot(some, some_gates, gate, input_precision="ieee")
        up = tl.dot(some, some_ups, up, input_precision="ieee")
    mixed = (gate * tl.sigmoid(gate) * up).to(inner.dtype.element_ty)
    place = inner + pair.to(tl.int64)[:, None] * width + column[None, :]
    tl.store(place, mixed, mask=(row < count)[:, None] & (column < width)[None, :])


@triton.jit(do_not_specialize=["pairs"])
def _shared_product(
    inner: tl.tensor,
    down: tl.tensor,
    out: tl.tensor,
    shares: tl.tensor,
    counts: tl.tensor,
    lists: tl.tensor,
    pairs: tl.tensor,
    width: tl.tensor,
    hidden: tl.tensor,
    EXPERTS: tl.constexpr,
    EXPERTS_BLOCK: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DEPTH: tl.constexpr,
) -> None:
    """``inner @ down.T`` by each pair's expert, times its share, a row a pair."""
    expert, count, first = _find_tile(counts, EXPERTS, EXPERTS_BLOCK, ROWS)
    if expert >= EXPERTS:
        return
    row = first + tl.arange(0, ROWS)
    pair = tl.load(lists + expert.to(tl.int64) * pairs + row, mask=row < count, other=0)
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    depth = tl.arange(0, DEPTH)
    rows = inner + pair.to(tl.int64)[:, None] * width
    weights = down + (expert.to(tl.int64) * hidden + column)[None, :] * width
    total = tl.zeros([ROWS, COLUMNS], tl.float32)
    for start in range(0, width, DEPTH):
        at = start + depth
        some = tl.load(rows + at[None, :], mask=(row < count)[:, None] & (at < width)[None, :], other=0.0)
        inside = (at < width)[:, None] & (column < hidden)[None, :]
        some_weights = tl.load(weights + at[:, None], mask=inside, other=0.0)
        total = tl.dot(some, some_weights, total, input_precision="ieee")
    share = tl.load(shares + pair, mask=row < count, other=0.0).to(tl.float32)
    place = out + pair.to(tl.int64)[:, None] * hidden + column[None, :]
    shared = (total * share[:, None]).to(out.dtype.element_ty)
    tl.store(place, shared, mask=(row < count)[:, None] & (column < hidden)[None, :])
