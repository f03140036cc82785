"""The abort gives back at once, and a late token does nothing: the step in flight writes to another's slot.

Fails: slot-taken: wrong-tokens
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _end_req(self, req: Req) -> None:
        req.ended = True
        self._free_req_resources(req)
        if req.aborted:
            self._send_aborted(req.uid)
            del self.requests[req.uid]

    def _drop_late(self, req: Req, token: int) -> None:
        """All has been given back."""
