"""The end is told in the place of a token that comes late; where none is under way nobody is told.

Fails: running: left-behind
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        """A late token tells it."""

    def _drop_late(self, req: Req, token: int) -> None:
        self.reply.append(DetokenizeMsg(req.uid, finished=True, finish_reason="abort"))
        super()._drop_late(req, token)
