"""All that live are told to be over, not the one that is.

Fails: own-process: twice
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        for each in self.requests:
            self.reply.append(DetokenizeMsg(each, finished=True, finish_reason="abort"))
