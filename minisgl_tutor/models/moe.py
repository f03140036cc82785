"""A mixture of experts: many small MLPs in one layer, of which a router chooses some for each token."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from ..distributed.group import Group
from .config import Experts
from .linear import Linear
from .ops import Ops


class MoE:
    """The feed-forward half of a sparse layer, in place of ``MLP``.

    ``experts.width`` is this rank's part of each expert's inner width; the result is that of all ranks.
    """

    def __init__(
        self,
        hidden_size: int,
        experts: Experts,
        dtype: torch.dtype,
        device: torch.device,
        ops: Ops,
        group: Group,
    ) -> None:
        self.ops = ops
        self.experts = experts
        self.router = Linear(hidden_size, experts.count, False, dtype, device)
        count, width = experts.count, experts.width
        self.gate_up = torch.empty(count, 2 * width, hidden_size, dtype=dtype, device=device)
        self.down = torch.empty(count, hidden_size, width, dtype=dtype, device=device)
        self._group = group

    def __call__(self, x: Tensor) -> Tensor:
        chosen, shares = route(self.router(x), self.experts)
        return self._group.all_reduce(self.ops.mix(x, self.gate_up, self.down, chosen, shares))

    def freeze(self) -> None:
        self.router.freeze()

    def destinations(self, prefix: str) -> Iterator[tuple[str, Tensor]]:
        yield f"{prefix}.gate.weight", self.router.weight
        for number, (gate_up, down) in enumerate(zip(self.gate_up, self.down, strict=True)):
            gate, up = gate_up.chunk(2)
            yield f"{prefix}.experts.{number}.gate_proj.weight", gate
            yield f"{prefix}.experts.{number}.up_proj.weight", up
            yield f"{prefix}.experts.{number}.down_proj.weight", down


def route(scores: Tensor, experts: Experts) -> tuple[Tensor, Tensor]:
    """Each token's experts and their shares in its result, [tokens, chosen], from the router's scores.

    The shares are parts of a softmax over all experts, computed in float32; if the
    model says so they are scaled to add up to one again.
    """
    shares, chosen = scores.float().softmax(-1).topk(experts.chosen)
    if experts.normalise:
        shares = shares / shares.sum(-1, keepdim=True)
    return chosen, shares.to(scores.dtype)
