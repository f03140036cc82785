"""The small operations between a decoder's matrix products: one set, to be exchanged for a faster one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from ..attention.base import Sink
from .rotary import rotate


class Ops(Protocol):
    """Norms compute in float32, and results have the type of ``x``."""

    def norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        """Root-mean-square norm over the last dimension."""
        ...

    def add_norm(self, x: Tensor, stream: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        """The norm of ``stream + x``, and that sum. May overwrite both arguments."""
        ...

    def gate(self, gate_up: Tensor) -> Tensor:
        """``silu(gate) * up`` of the two halves of the last dimension."""
        ...

    def turn(
        self,
        qkv: Tensor,
        heads: Sequence[int],
        norms: tuple[Tensor, Tensor] | None,
        eps: float,
        angles: Tensor,
        sink: Sink | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Q, K and V of ``qkv`` [tokens, all heads, head_dim], ``heads`` of each.

        Q and K are normed first where ``norms`` has their weights, and rotated by
        ``angles``, rows of the rotary table. May overwrite ``qkv``. With a ``sink`` K and V
        go there, and those returned are unspecified.
        """
        ...


class TorchOps:
    """With PyTorch alone: runs everywhere."""

    def norm(self, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, eps)

    def add_norm(self, x: Tensor, stream: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
        stream = stream + x
        return self.norm(stream, weight, eps), stream

    def gate(self, gate_up: Tensor) -> Tensor:
        gate, up = gate_up.chunk(2, dim=-1)
        return F.silu(gate) * up

    def turn(
        self,
        qkv: Tensor,
        heads: Sequence[int],
        norms: tuple[Tensor, Tensor] | None,
        eps: float,
        angles: Tensor,
        sink: Sink | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        assert sink is None, "attention that runs with these operations stores K and V itself"
        if norms is not None:
            q, k, v = torch.split(qkv, list(heads), dim=1)
            return rotate(self.norm(q, norms[0], eps), angles), rotate(self.norm(k, norms[1], eps), angles), v
        # Q and K turn alike, so they turn together.
        qk, v = torch.split(qkv, [sum(heads[:2]), heads[2]], dim=1)
        q, k = torch.split(rotate(qk, angles), list(heads[:2]), dim=1)
        return q, k, v
