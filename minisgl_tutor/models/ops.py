"""The small operations between a decoder's matrix products: one set, to be exchanged for a faster one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from ..attention.base import Sink
from .linear import Linear
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

    def gated(self, x: Tensor, gate_up: Linear) -> Tensor:
        """``gate`` of the product with ``gate_up``, which has no bias."""
        ...

    def mix(self, x: Tensor, gate_up: Tensor, down: Tensor, chosen: Tensor, shares: Tensor) -> Tensor:
        """For each token, the sum of what its experts make of it, each times its share.

        An expert is a gated MLP without biases; ``gate_up`` [experts, 2 * width, hidden]
        and ``down`` [experts, hidden, width] are their weights. ``chosen`` int64 and
        ``shares`` have shape [tokens, experts of a token].
        """
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

    def gated(self, x: Tensor, gate_up: Linear) -> Tensor:
        return self.gate(gate_up(x))

    def mix(self, x: Tensor, gate_up: Tensor, down: Tensor, chosen: Tensor, shares: Tensor) -> Tensor:
        out = torch.zeros(x.shape, dtype=torch.float32, device=x.device)
        pairs = chosen.flatten().argsort(stable=True)
        counts = chosen.flatten().bincount(minlength=len(down)).tolist()
        # Expert by expert, each for all of its tokens at once.
        for expert, own in enumerate(pairs.split(counts)):
            if len(own):
                tokens = own // chosen.shape[1]
                made = F.linear(self.gate(F.linear(x[tokens], gate_up[expert])), down[expert])
                out.index_add_(0, tokens, made.float() * shares.flatten()[own, None])
        return out.to(x.dtype)

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
