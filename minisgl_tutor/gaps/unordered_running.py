"""The running requests are kept in a set, whose order says nothing of their arrival.

Rows of a batch change places from run to run, and with them whatever depends on the
order: who gets the last pages, and the rounding of sums on the device. A set orders
by hash, which differs between runs; here it is a digest of the uid, so that a play
can be repeated.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from ..scheduler.batch import Batch
from ..scheduler.decode import DecodeManager
from ..scheduler.scheduler import Scheduler


class UnorderedDecodeManager(DecodeManager):
    def schedule_next_batch(self) -> Batch | None:
        self.running = {uid: self.running[uid] for uid in sorted(self.running, key=_place_in_set)}
        return super().schedule_next_batch()


class UnorderedRunning(Scheduler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.decode_manager = UnorderedDecodeManager(self.cache_manager)


def _place_in_set(uid: int) -> bytes:
    return blake2b(uid.to_bytes(8, "big")).digest()
