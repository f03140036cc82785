"""It takes the request out of `requests` itself, and the scheduler finds it gone.

Fails: running: fails
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        req = self.requests.pop(uid)
        self.reply.append(DetokenizeMsg(uid, finished=True, finish_reason="abort", usage=req.usage))
