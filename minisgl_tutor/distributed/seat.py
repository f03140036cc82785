"""Which of the processes that share a model this one is. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Seat:
    """A rank, and how it finds the others.

    ``rank`` is one of 0 to ``size`` - 1, and ``local_rank`` one of 0 to ``local_size`` - 1
    among those on its machine: its GPU. ``meeting`` names a file that all ranks see,
    which must not exist before; ``None`` stands for torch's standard launch
    variables (MASTER_ADDR, MASTER_PORT).
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    meeting: str | None


def local_seats(size: int, meeting: str) -> list[Seat]:
    """The seats of a model that one machine has all of."""
    return [Seat(rank, size, rank, size, meeting) for rank in range(size)]
