"""A message comes, but it is not the last one: the state stays, or begins.

Fails: running: left-behind
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        self.reply.append(DetokenizeMsg(uid, finish_reason="abort"))
