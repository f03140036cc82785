"""The sum over two GPUs of one machine in one step: each reads what it needs from the other's memory.

A decode step sums a few kilobytes twice a layer. What that takes is not the bytes but the
waiting, and NCCL's algorithms, made for many bytes, wait longer. PyTorch's symmetric
memory has the kernel. Of more than two GPUs each might add up in another order, and
what a rank chooses by its sums, such as experts, would not be what the others choose.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.distributed as dist
from torch import Tensor

from .seat import Seat

DTYPES = (torch.bfloat16, torch.float32)
BYTES = 2 << 20
"""Sums of more bytes are NCCL's."""

ALIGNMENT = 16


class OneShot:
    """Sums tensors of one type. Can be captured in a CUDA graph."""

    def __init__(self, buffer: Tensor, limit: int, group: str) -> None:
        self._buffer = buffer
        self._limit = limit
        self._group = group

    @classmethod
    def set_up(
        cls, seat: Seat, dtype: torch.dtype, device: torch.device, smallest: Callable[[int], int]
    ) -> OneShot | None:
        """``None``, on all ranks, unless they are two that reach each other's memory, and the type fits.

        ``smallest`` is ``Group.smallest``.
        """
        if (seat.local_size, seat.size) != (2, 2) or dtype not in DTYPES:
            return None
        limit = BYTES // dtype.itemsize
        made = None
        try:
            import torch.distributed._symmetric_memory as symmetric

            buffer = symmetric.empty(limit, dtype=dtype, device=device)
            group = dist.distributed_c10d._get_default_group().group_name
            symmetric.rendezvous(buffer, group)
            one_shot = cls(buffer, limit, group)
            ones = torch.ones(ALIGNMENT, dtype=dtype, device=device)
            made = one_shot if bool((one_shot(ones) == seat.size).all()) else None
        except (RuntimeError, ImportError):
            pass
        return made if smallest(int(made is not None)) else None

    def covers(self, x: Tensor) -> bool:
        small = x.numel() <= self._limit and x.dtype == self._buffer.dtype
        return small and x.is_contiguous() and x.numel() * x.itemsize % ALIGNMENT == 0

    def __call__(self, x: Tensor) -> Tensor:
        """The sum of all ranks' ``x``, which ``covers`` accepts; a new tensor."""
        place = self._buffer[: x.numel()].view(x.shape)
        summed: Tensor = torch.ops.symm_mem.one_shot_all_reduce_copy(place, x, "sum", self._group)
        return summed
