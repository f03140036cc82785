"""The decoder's small operations as Triton kernels: one launch and one trip to memory each."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton
import triton.language as tl
from torch import Tensor

from ..attention.base import Sink
from ..attention.chain import chained, follow
from . import few_rows, triton_experts
from .linear import Linear

HEADS_AT_ONCE = 8


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
        grid = (rows, triton.cdiv(width, block))
        _gate[grid](gate_up, out, width, BLOCK=block, num_warps=4, **chained(rows))
        return out

    def gated(self, x: Tensor, gate_up: Linear) -> Tensor:
        if len(x) == 1:
            return few_rows.gated_row(x, gate_up.weight)
        return self.gate(gate_up(x))

    def mix(self, x: Tensor, gate_up: Tensor, down: Tensor, chosen: Tensor, shares: Tensor) -> Tensor:
        return triton_experts.mix(x, gate_up, down, chosen, shares)

    def turn(
        self,
        qkv: Tensor,
        heads: Sequence[int],
        norms: tuple[Tensor, Tensor] | None,
        eps: float,
        angles: Tensor,
        sink: Sink | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        tokens, all_heads, dim = qkv.shape
        q, k, v = torch.split(qkv, list(heads), dim=1)
        turned = q if sink is None else torch.empty_like(q, memory_format=torch.contiguous_format)
        q_norm, k_norm = norms if norms is not None else (qkv, qkv)
        keys, values, locations = (k, v, qkv) if sink is None else (sink.keys, sink.values, sink.locations)
        _turn[(tokens, triton.cdiv(all_heads, HEADS_AT_ONCE))](
            qkv,
            q_norm,
            k_norm,
            angles,
            turned,
            turned.stride(0),
            keys,
            values,
            locations,
            eps,
            Q_HEADS=heads[0],
            KV_HEADS=heads[1],
            PAGE=1 if sink is None else sink.keys.shape[2],
            HALF=dim // 2,
            BLOCK=triton.next_power_of_2(dim // 2),
            HEADS=HEADS_AT_ONCE,
            NORM=norms is not None,
            SINK=sink is not None,
            num_warps=HEADS_AT_ONCE // 2,
            **chained(tokens),
        )
        return turned, k, v


def _launch_norm(x: Tensor, stream: Tensor, weight: Tensor, out: Tensor, eps: float, add: bool) -> None:
    rows, width = x.shape
    block = triton.next_power_of_2(width)
    launch = {"num_warps": min(16, max(1, block // 512)), **chained(rows)}
    _norm[(rows,)](x, stream, weight, out, width, eps, BLOCK=block, ADD=add, **launch)


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
    follow()
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
    follow()
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    inside = column < width
    gate = tl.load(gate_up + row * 2 * width + column, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * width + width + column, mask=inside, other=0.0).to(tl.float32)
    tl.store(out + row * width + column, (gate * tl.sigmoid(gate) * up).to(out.dtype.element_ty), mask=inside)


@triton.jit
def _stored(value: tl.tensor, pool: tl.tensor) -> tl.tensor:
    """The value in the pool's type. An 8-bit one's largest number is 448, beyond which it is cut off."""
    if pool.dtype.element_ty == tl.float8e4nv:
        value = tl.clamp(value.to(tl.float32), -448.0, 448.0)
    return value.to(pool.dtype.element_ty)


@triton.jit
def _turn(
    qkv: tl.tensor,
    q_norm: tl.tensor,
    k_norm: tl.tensor,
    angles: tl.tensor,
    turned: tl.tensor,
    turned_stride: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    locations: tl.tensor,
    eps: tl.tensor,
    Q_HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    PAGE: tl.constexpr,
    HALF: tl.constexpr,
    BLOCK: tl.constexpr,
    HEADS: tl.constexpr,
    NORM: tl.constexpr,
    SINK: tl.constexpr,
) -> None:
    """Norms and rotates some heads of one token; the halves of a head are each other's partners.

    With a sink, Q goes to ``turned``, K and V to the pool; without, Q and K stay where they are.
    """
    follow()
    token = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * HEADS + tl.arange(0, HEADS)
    dim = tl.arange(0, BLOCK)
    is_q, is_k = head < Q_HEADS, (head >= Q_HEADS) & (head < Q_HEADS + KV_HEADS)
    is_v = (head >= Q_HEADS + KV_HEADS) & (head < Q_HEADS + 2 * KV_HEADS)
    inside = (is_q | is_k | is_v)[:, None] & (dim < HALF)[None, :]
    place = qkv + (token * (Q_HEADS + 2 * KV_HEADS) + head)[:, None] * 2 * HALF + dim[None, :]
    first = tl.load(place, mask=inside, other=0.0).to(tl.float32)
    second = tl.load(place + HALF, mask=inside, other=0.0).to(tl.float32)
    v_first, v_second = first, second
    if NORM:
        squares = tl.sum(first * first, 1) + tl.sum(second * second, 1)
        factor = tl.rsqrt(squares / (2 * HALF) + eps)[:, None]
        q_first = tl.load(q_norm + dim, mask=dim < HALF, other=0.0).to(tl.float32)
        q_second = tl.load(q_norm + HALF + dim, mask=dim < HALF, other=0.0).to(tl.float32)
        k_first = tl.load(k_norm + dim, mask=dim < HALF, other=0.0).to(tl.float32)
        k_second = tl.load(k_norm + HALF + dim, mask=dim < HALF, other=0.0).to(tl.float32)
        first = first * factor * tl.where(is_q[:, None], q_first[None, :], k_first[None, :])
        second = second * factor * tl.where(is_q[:, None], q_second[None, :], k_second[None, :])
    cos = tl.load(angles + token * 2 * HALF + dim, mask=dim < HALF, other=0.0)[None, :]
    sin = tl.load(angles + token * 2 * HALF + HALF + dim, mask=dim < HALF, other=0.0)[None, :]
    kind = qkv.dtype.element_ty
    turned_first = (first * cos - second * sin).to(kind)
    turned_second = (second * cos + first * sin).to(kind)
    if SINK:
        q_place = turned + token * turned_stride + head[:, None] * 2 * HALF + dim[None, :]
        q_inside = inside & is_q[:, None]
        tl.store(q_place, turned_first, mask=q_inside)
        tl.store(q_place + HALF, turned_second, mask=q_inside)
        location = tl.load(locations + token)
        page = location // PAGE * KV_HEADS
        k_row = (page + head - Q_HEADS) * PAGE + location % PAGE
        k_place = keys + k_row[:, None] * 2 * HALF + dim[None, :]
        k_inside = inside & is_k[:, None]
        tl.store(k_place, _stored(turned_first, keys), mask=k_inside)
        tl.store(k_place + HALF, _stored(turned_second, keys), mask=k_inside)
        v_row = (page + head - Q_HEADS - KV_HEADS) * PAGE + location % PAGE
        v_place = values + v_row[:, None] * 2 * HALF + dim[None, :]
        v_inside = inside & is_v[:, None]
        tl.store(v_place, _stored(v_first.to(kind), values), mask=v_inside)
        tl.store(v_place + HALF, _stored(v_second.to(kind), values), mask=v_inside)
    else:
        turns = inside & (is_q | is_k)[:, None]
        tl.store(place, turned_first, mask=turns)
        tl.store(place + HALF, turned_second, mask=turns)
