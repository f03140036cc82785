"""It ends the one that has been there for longest.

Fails: own-process: left-behind
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        oldest = min(self.requests)
        self.reply.append(DetokenizeMsg(oldest, finished=True, finish_reason="abort"))
