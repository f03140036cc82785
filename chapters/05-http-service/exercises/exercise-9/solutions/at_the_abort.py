"""The end is told when the abort comes: tokens that are under way then are dropped here anyway."""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _end_req(self, req: Req) -> None:
        if req.aborted:
            self.reply.append(DetokenizeMsg(req.uid, finished=True, finish_reason="abort"))
        super()._end_req(req)

    def _send_aborted(self, uid: int) -> None:
        """It has been told already."""
