"""Who leaves the list of the draining ones gives back: that happens once."""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        if req.in_flight or req.slot is None:
            return
        if self.draining.pop(req.slot, None) is not req:
            return
        self.table_manager.free(req)
        self.cache_manager.release(req)
        if req.aborted:
            self._send_aborted(req.uid)
            del self.requests[req.uid]
