"""Products of one to four rows with a large weight, at nearly the speed at which the weight can be read.

Libraries lay their kernels out for many rows. With one row, and even more so if the weight has few
outputs, most of the GPU then waits. Here each program takes two outputs and reads their weights whole.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
import triton
import triton.language as tl
from torch import Tensor

from ..attention.chain import chained, follow

SEVERAL_ROWS = (2, 4)
FEW_OUTPUTS = 2048
"""With so many outputs at most it is worth it for several rows too."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x @ weight.T + bias`` by whichever is faster (measured on an H200)."""
    rows = len(x)
    if rows == 1 or (rows in SEVERAL_ROWS and len(weight) <= FEW_OUTPUTS):
        return few_rows(x, weight, bias)
    return F.linear(x, weight, bias)


def few_rows(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``x @ weight.T + bias`` of 1, 2 or 4 contiguous rows, summed in float32."""
    rows, width = x.shape
    outputs = len(weight)
    out = torch.empty(rows, outputs, dtype=x.dtype, device=x.device)
    block, at_once = (2048, 2) if rows == 1 else (1024, 4)
    _multiply[(triton.cdiv(outputs, at_once),)](
        x,
        weight,
        weight if bias is None else bias,
        out,
        OUTPUTS=outputs,
        WIDTH=width,
        ROWS=rows,
        AT_ONCE=at_once,
        BLOCK=min(block, triton.next_power_of_2(width)),
        BIAS=bias is not None,
        num_warps=4,
        **chained(rows),
    )
    return out


def gated_row(x: Tensor, weight: Tensor) -> Tensor:
    """``silu(gate) * up`` of one contiguous row, of whose product with ``weight`` these are the halves."""
    outputs, width = len(weight) // 2, x.shape[1]
    out = torch.empty(1, outputs, dtype=x.dtype, device=x.device)
    _multiply_gated[(triton.cdiv(outputs, 2),)](
        x,
        weight,
        out,
        OUTPUTS=outputs,
        WIDTH=width,
        AT_ONCE=2,
        BLOCK=min(1024, triton.next_power_of_2(width)),
        num_warps=4,
        **chained(1),
    )
    return out


@triton.jit
def _multiply(
    x: tl.tensor,
    weight: tl.tensor,
    bias: tl.tensor,
    out: tl.tensor,
    OUTPUTS: tl.constexpr,
    WIDTH: tl.constexpr,
    ROWS: tl.constexpr,
    AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
    BIAS: tl.constexpr,
) -> None:
    output = tl.program_id(0) * AT_ONCE + tl.arange(0, AT_ONCE)
    column = tl.arange(0, BLOCK)
    row = tl.arange(0, ROWS)
    exists = output < OUTPUTS
    place = weight + output[:, None].to(tl.int64) * WIDTH + column[None, :]
    # One row is summed in two dimensions: a third, though of size one, takes the loads apart.
    sums = tl.zeros([AT_ONCE, BLOCK] if ROWS == 1 else [ROWS, AT_ONCE, BLOCK], tl.float32)
    # Nobody writes weights, so the first of them may be read before ``x`` is there.
    some = tl.load(place, mask=exists[:, None] & (column < WIDTH)[None, :], other=0.0)
    follow()
    for start in tl.static_range(0, WIDTH, BLOCK):
        inside = start + column < WIDTH
        if ROWS == 1:
            given = tl.load(x + start + column, mask=inside, other=0.0).to(tl.float32)
            sums += some.to(tl.float32) * given[None, :]
        else:
            given = tl.load(
                x + row[:, None] * WIDTH + start + column[None, :], mask=inside[None, :], other=0.0
            )
            sums += some.to(tl.float32)[None, :, :] * given.to(tl.float32)[:, None, :]
        if start + BLOCK < WIDTH:
            inside = start + BLOCK + column < WIDTH
            some = tl.load(place + start + BLOCK, mask=exists[:, None] & inside[None, :], other=0.0)
    product = tl.sum(sums, 1)[None, :] if ROWS == 1 else tl.sum(sums, 2)
    if BIAS:
        product += tl.load(bias + output, mask=exists, other=0.0).to(tl.float32)[None, :]
    place_out = out + row[:, None] * OUTPUTS + output[None, :]
    tl.store(place_out, product.to(out.dtype.element_ty), mask=exists[None, :])


@triton.jit
def _multiply_gated(
    x: tl.tensor,
    weight: tl.tensor,
    out: tl.tensor,
    OUTPUTS: tl.constexpr,
    WIDTH: tl.constexpr,
    AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
) -> None:
    output = tl.program_id(0) * AT_ONCE + tl.arange(0, AT_ONCE)
    column = tl.arange(0, BLOCK)
    exists = output < OUTPUTS
    gates = weight + output[:, None].to(tl.int64) * WIDTH + column[None, :]
    ups = gates + OUTPUTS * WIDTH
    gate_sums = tl.zeros([AT_ONCE, BLOCK], tl.float32)
    up_sums = tl.zeros([AT_ONCE, BLOCK], tl.float32)
    inside = exists[:, None] & (column < WIDTH)[None, :]
    some_gates = tl.load(gates, mask=inside, other=0.0)
    some_ups = tl.load(ups, mask=inside, other=0.0)
    follow()
    for start in tl.static_range(0, WIDTH, BLOCK):
        given = tl.load(x + start + column, mask=start + column < WIDTH, other=0.0).to(tl.float32)[None, :]
        gate_sums += some_gates.to(tl.float32) * given
        up_sums += some_ups.to(tl.float32) * given
        if start + BLOCK < WIDTH:
            inside = exists[:, None] & (start + BLOCK + column < WIDTH)[None, :]
            some_gates = tl.load(gates + start + BLOCK, mask=inside, other=0.0)
            some_ups = tl.load(ups + start + BLOCK, mask=inside, other=0.0)
    # Rounded in between, as when product and gate are two operations.
    kind = out.dtype.element_ty
    gate = tl.sum(gate_sums, 1).to(kind).to(tl.float32)
    up = tl.sum(up_sums, 1).to(kind).to(tl.float32)
    tl.store(out + output, (gate * tl.sigmoid(gate) * up).to(kind), mask=exists)
