"""It gives all back, and stays on the list of those that a step in flight still uses.

Fails: abort-amid: books
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        if req.in_flight or req.slot is None:
            return
        self._free_req_resources(req)
        if req.aborted:
            self._send_aborted(req.uid)
            del self.requests[req.uid]
