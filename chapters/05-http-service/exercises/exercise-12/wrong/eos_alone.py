"""The end-of-sequence token gives back once, and the last of an answer's length still does twice.

Fails: abort-length: slot-twice
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        slot = req.slot
        self._release_if_drained(req)
        is_last = req.length + 1 == req.max_len and token not in self.eos_token_ids
        if req.aborted and slot is not None and is_last:
            self.table_manager.free_slots.append(slot)
