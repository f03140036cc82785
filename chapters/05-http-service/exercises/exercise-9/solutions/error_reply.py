"""An error reply ends a request wherever it passes."""

from __future__ import annotations

from minisgl_tutor.message import ErrorReply
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        self.reply.append(ErrorReply(uid, "the request was aborted", code="aborted"))
