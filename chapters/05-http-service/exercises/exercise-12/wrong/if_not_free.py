"""The abort gives the slot back at once, and the late token does if it is not free: it may be another's.

Fails: slot-taken: slot-twice
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _end_req(self, req: Req) -> None:
        if req.slot is not None and req.in_flight:
            self.table_manager.free_slots.append(req.slot)
        super()._end_req(req)

    def _drop_late(self, req: Req, token: int) -> None:
        slot, free = req.slot, self.table_manager.free_slots
        self._release_if_drained(req)
        if slot is not None and free.count(slot) > 1:
            free.remove(slot)
