"""The decoder's small operations as Triton kernels: one launch and one trip to memory each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor


class TritonOps:
    """``Ops`` for NVIDIA GPUs. ``x`` must be contiguous."""

    def norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        out = torch.empty_like(x)
        if len(x):
            _launch_norm(x, x, weight, out, eps, add=False)
        return out

    def add_norm(self, x: Tensor, stream: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        out = torch.empty_like(x)
        if len(x):
            _launch_norm(x, stream, weight, out, eps, add=True)
        return out, stream

    def gate(self, gate_up: Tensor) -> Tensor:
        rows, width = gate_up.shape[0], gate_up.shape[1] // 2
        out = torch.empty(rows, width, dtype=gate_up.dtype, device=gate_up.device)
        block = min(1024, triton.next_power_of_2(width))
        _gate[(rows, triton.cdiv(width, block))](gate_up, out, width, BLOCK=block, num_warps=4)
        return out

    def turn(
        self,
        qkv: Tensor,
        heads: Sequence[int],
        norms: tuple[Tensor, Tensor] | None,
        eps: float,
        angles: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        tokens, _, dim = qkv.shape
        q_norm, k_norm = norms if norms is not None else (qkv, qkv)
        _turn[(tokens, heads[0] + heads[1])](
            qkv,
            q_norm,
            k_norm,
            angles,
            sum(heads),
            heads[0],
            eps,
            HALF=dim // 2,
            BLOCK=triton.next_power_of_2(dim // 2),
            NORM=norms is not None,
            num_warps=1,
        )
        q, k, v = torch.split(qkv, list(heads), dim=1)
        return q, k, v


def _launch_norm(x: Tensor, stream: Tensor, weight: Tensor, out: Tensor, eps: float, add: bool) -> None:
    rows, width = x.shape
    block = triton.next_power_of_2(width)
    warps = min(16, max(1, block // 512))
    _norm[(rows,)](x, stream, weight, out, width, eps, BLOCK=block, ADD=add, num_warps=warps)


@triton.jit
def _norm(
    x: tl.tensor,
    stream: tl.tensor,
    weight: tl.tensor,
    out: tl.tensor,
    width: tl.tensor,
    eps: tl.tensor,
    BLOCK: tl.constexpr,
    ADD: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    column = tl.arange(0, BLOCK)
    inside = column < width
    scale = tl.load(weight + column, mask=inside, other=0.0).to(tl.float32)
    value = tl.load(x + row * width + column, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        value += tl.load(stream + row * width + column, mask=inside, other=0.0).to(tl.float32)
        rounded = value.to(x.dtype.element_ty)
        tl.store(stream + row * width + column, rounded, mask=inside)
        value = rounded.to(tl.float32)
    normed = value * tl.rsqrt(tl.sum(value * value) / width + eps) * scale
    tl.store(out + row * width + column, normed.to(out.dtype.element_ty), mask=inside)


@triton.jit
def _gate(gate_up: tl.tensor, out: tl.tensor, width: tl.tensor, BLOCK: tl.constexpr) -> None:
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    gate = tl.load(gate_up + row * 2 * width + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + column, (gate * tl.sigmoid(gate) * up).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _turn(
    qkv: tl.tensor,
    q_norm: tl.tensor,
    k_norm: tl.tensor,
    angles: tl.tensor,
    all_heads: tl.tensor,
    q_heads: tl.tensor,
    eps: tl.tensor,
    HALF: tl.constexpr,
    BLOCK: tl.constexpr,
    NORM: tl.constexpr,
) -> None:
    """Norms and rotates one head of one token where it lies; its halves are each other's partners."""
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1)
    dim = tl.arange(0, BLOCK)
    inside = dim < HALF
    place = qkv + (token * all_heads + head) * 2 * HALF + dim
    first = tl.load(place, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(place + HALF, mask=inside, other=0.0).to(tl.float32)
    if NORM:
        weight = q_norm + dim if head < q_heads else k_norm + dim
        squares = tl.sum(first * first) + tl.sum(second * second)
        factor = tl.rsqrt(squares / (2 * HALF) + eps)
        first = first * factor * tl.load(weight, mask=inside, other=0.0).to(tl.float32)
        second = second * factor * tl.load(weight + HALF, mask=inside, other=0.0).to(tl.float32)
    cos = tl.load(angles + token * 2 * HALF + dim, mask=inside, other=0.0)
    sin = tl.load(angles + token * 2 * HALF + HALF + dim, mask=inside, other=0.0)
    kind = qkv.dtype.element_ty
    tl.store(place, (first * cos - second * sin).to(kind), mask=inside)
    tl.store(place + HALF, (second * cos + first * sin).to(kind), mask=inside)
