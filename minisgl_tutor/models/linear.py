"""A matrix product with a weight that stays the same."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


class Linear:
    """``x @ weight.T + bias``. ``weight`` has shape [out, in]; uninitialised at first."""

    def __init__(
        self, inputs: int, outputs: int, bias: bool, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.weight = torch.empty(outputs, inputs, dtype=dtype, device=device)
        self.bias = torch.empty(outputs, dtype=dtype, device=device) if bias else None

    def freeze(self) -> None:
        """The weight has its final values."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(x, self.weight, self.bias)
