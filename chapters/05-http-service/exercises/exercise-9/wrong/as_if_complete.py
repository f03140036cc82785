"""The last message of an aborted request looks like that of a whole answer.

Fails: running: reason
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        self.reply.append(DetokenizeMsg(uid, finished=True, finish_reason="stop"))
