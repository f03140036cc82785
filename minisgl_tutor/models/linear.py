"""A matrix product with a weight that stays the same, and what of it is divided among ranks."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor

from ..distributed.group import Group
from .shard import Shard

Product = Callable[[Tensor, Tensor, Tensor | None], Tensor]


class Linear:
    """``x @ weight.T + bias``. ``weight`` has shape [out, in]; uninitialised at first."""

    def __init__(
        self, inputs: int, outputs: int, bias: bool, dtype: torch.dtype, device: torch.device
    ) -> None:
        self.weight = torch.empty(outputs, inputs, dtype=dtype, device=device)
        self.bias = torch.empty(outputs, dtype=dtype, device=device) if bias else None
        self._product: Product = F.linear

    def freeze(self) -> None:
        """The weight has its final values, and may be laid out for speed; then it can no longer be read.

        A CPU multiplies bfloat16 in blocks. Laid out so once, instead of in each call,
        a product of few rows takes about half the time. A GPU has a kernel of its own for those.
        """
        if self.weight.device.type == "cuda":
            from .few_rows import linear

            self._product = linear
        elif self.weight.dtype == torch.bfloat16 and _can_pack():
            self.weight = torch.ops.mkldnn._reorder_linear_weight(self.weight, None)
            self._product = _packed_product

    def __call__(self, x: Tensor) -> Tensor:
        return self._product(x, self.weight, self.bias)


class RowParallelLinear(Linear):
    """The product of all ranks' inputs side by side: each multiplies its own, and the results are summed."""

    def __init__(
        self, inputs: int, outputs: int, dtype: torch.dtype, device: torch.device, group: Group
    ) -> None:
        super().__init__(inputs, outputs, False, dtype, device)
        self._group = group

    def __call__(self, x: Tensor) -> Tensor:
        return self._group.all_reduce(super().__call__(x))


class VocabEmbedding:
    """The vectors of tokens, of which each rank has a span. ``weight`` is uninitialised at first."""

    def __init__(
        self, shard: Shard, width: int, dtype: torch.dtype, device: torch.device, group: Group
    ) -> None:
        self.weight = torch.empty(shard.vocab_rows, width, dtype=dtype, device=device)
        self._start, end = shard.vocab
        self._count = end - self._start
        self.weight[self._count :] = 0
        self._group = group

    def __call__(self, token_ids: Tensor) -> Tensor:
        """Shape [tokens, width] from int64 ids of the whole vocabulary."""
        if self._group.size == 1:
            return F.embedding(token_ids, self.weight)
        own = token_ids - self._start
        elsewhere = (own < 0) | (own >= self._count)
        vectors = F.embedding(own.masked_fill(elsewhere, 0), self.weight)
        return self._group.all_reduce(vectors.masked_fill(elsewhere[:, None], 0))


def _packed_product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


def _can_pack() -> bool:
    """Whether PyTorch has the operators that its own compiler packs with, and they do bfloat16 here."""
    if not hasattr(torch.ops.mkldnn, "_reorder_linear_weight"):
        return False
    return bool(torch.ops.mkldnn._is_mkldnn_bf16_supported())
