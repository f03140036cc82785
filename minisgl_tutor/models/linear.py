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
        self._packed = False

    def freeze(self) -> None:
        """The weight has its final values, and may be laid out for speed; then it can no longer be read.

        A CPU multiplies bfloat16 in blocks. Laid out so once, instead of in each call,
        a product of few rows takes about half the time.
        """
        if self.weight.device.type == "cpu" and self.weight.dtype == torch.bfloat16 and _can_pack():
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, None)
            self._packed = True

    def __call__(self, x: Tensor) -> Tensor:
        if self._packed:
            product: Tensor = torch.ops.mkldnn._linear_pointwise(x, self.weight, self.bias, "none", [], "")
            return product
        return F.linear(x, self.weight, self.bias)


def _can_pack() -> bool:
    """Whether PyTorch has the operators that its own compiler packs with, and they do bfloat16 here."""
    if not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        return False
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
