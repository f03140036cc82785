"""To be sure it is told twice, and the second makes a state of nobody's for a moment.

Fails: running: twice
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        self.reply += [DetokenizeMsg(uid, finished=True, finish_reason="abort")] * 2
