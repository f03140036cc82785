"""What the ranks of a tensor-parallel model say to each other while they compute.

Over NCCL between GPUs, over gloo between CPUs. All ranks make the same calls in the same
order. On a GPU none waits on the host, and all can be captured in a CUDA graph.
"""

from __future__ import annotations

import os
import socket
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed import FileStore, Store  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from ..language import Sentence
from ..models.errors import ModelError
from .one_shot import OneShot
from .seat import Seat

# The older name of the same function warns where the newer one exists.
_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


class Group(Protocol):
    """The ranks, as one of them sees them."""

    @property
    def rank(self) -> int: ...

    @property
    def size(self) -> int: ...

    def all_reduce(self, x: Tensor) -> Tensor:
        """The sum of all ranks' ``x``, the same bits on each; may overwrite ``x``."""
        ...

    def all_gather(self, x: Tensor) -> Tensor:
        """All ranks' ``x``, of one shape [rows, columns], side by side in the order of the ranks."""
        ...

    def smallest(self, value: int) -> int:
        """The smallest of all ranks' values. Waits for all ranks."""
        ...


class Alone:
    """A group of one: there is nobody to talk to."""

    rank = 0
    size = 1

    def all_reduce(self, x: Tensor) -> Tensor:
        return x

    def all_gather(self, x: Tensor) -> Tensor:
        return x

    def smallest(self, value: int) -> int:
        return value


class TorchGroup:
    """All processes of ``torch.distributed``'s default group, of which a process has one at a time."""

    def __init__(self, seat: Seat, store: Store, device: torch.device) -> None:
        self._one_shot: OneShot | None = None
        self.seat = seat
        self.rank = seat.rank
        self.size = seat.size
        self._store = store
        self._device = device

    @classmethod
    def join(cls, seat: Seat, device: torch.device, one_shot: torch.dtype | None = None) -> TorchGroup:
        """Takes the seat; returns once all ranks have done so. On a GPU, it is the seat's from here on.

        Small sums of the type ``one_shot`` do without NCCL between GPUs that reach each other's memory.

        Raises:
            ModelError: this machine has fewer GPUs than ranks, or the others cannot be reached.
        """
        if device.type == "cuda":
            _take_gpu(seat)
        try:
            if seat.meeting is None:
                store, _, _ = next(iter(rendezvous("env://", seat.rank, seat.size)))
            else:
                store = FileStore(seat.meeting, seat.size)
                os.environ.setdefault("GLOO_SOCKET_IFNAME", _loopback())
            backend = "nccl" if device.type == "cuda" else "gloo"
            dist.init_process_group(backend, store=store, rank=seat.rank, world_size=seat.size)
        except (dist.DistError, RuntimeError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise ModelError(
                Sentence(
                    "Rank {rank} of {size} cannot reach the others: {reason}",
                    rank=seat.rank,
                    size=seat.size,
                    reason=reason,
                )
            ) from None
        group = cls(seat, store, device)
        group.smallest(0)
        if device.type == "cuda" and one_shot is not None:
            group._one_shot = OneShot.set_up(seat, one_shot, device, group.smallest)
        return group

    def all_reduce(self, x: Tensor) -> Tensor:
        if self._one_shot is not None and self._one_shot.covers(x):
            return self._one_shot(x)
        dist.all_reduce(x)
        return x

    def all_gather(self, x: Tensor) -> Tensor:
        rows, columns = x.shape
        parts = torch.empty(self.size * rows, columns, dtype=x.dtype, device=x.device)
        _gather(parts, x.contiguous())
        return parts.view(self.size, rows, columns).transpose(0, 1).reshape(rows, self.size * columns)

    def smallest(self, value: int) -> int:
        values = torch.tensor([value], dtype=torch.int64, device=self._device)
        dist.all_reduce(values, dist.ReduceOp.MIN)
        return int(values.item())

    def tell(self, name: str, value: str) -> None:
        """Says something to the other ranks, once: what ``name`` is."""
        self._store.set(name, value)

    def ask(self, name: str) -> str:
        """What some rank tells of ``name``. Waits for it."""
        return bytes(self._store.get(name)).decode()

    def close(self) -> None:
        """The process can join another group then."""
        dist.destroy_process_group()


def _take_gpu(seat: Seat) -> None:
    count = torch.cuda.device_count()
    if seat.local_size > count:
        raise ModelError(
            Sentence(
                "--tp {size} needs {gpus} GPUs on this machine, which has {count}; give a smaller --tp.",
                size=seat.size,
                gpus=seat.local_size,
                count=count,
            )
        )
    torch.cuda.set_device(seat.local_rank)


def _loopback() -> str:
    """Ranks of one machine need no other interface, and a host's name may lead nowhere."""
    return next((name for _, name in socket.if_nameindex() if name.startswith("lo")), "lo")
