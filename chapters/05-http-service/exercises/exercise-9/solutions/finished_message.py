"""A finished message without a token, in the order of the others."""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        self.reply.append(DetokenizeMsg(uid, finished=True, finish_reason="abort"))
