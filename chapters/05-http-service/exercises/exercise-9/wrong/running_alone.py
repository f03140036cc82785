"""When this is called the request runs no more, so nobody is told.

Fails: running: left-behind
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        if uid in self.decode_manager.running:
            self.reply.append(DetokenizeMsg(uid, finished=True, finish_reason="abort"))
