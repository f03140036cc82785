"""A request of one token is known already, and stays.

Fails: early: left-behind
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        req = self.requests[uid]
        if req.length > req.prompt_len + 1:
            self.reply.append(DetokenizeMsg(uid, finished=True, finish_reason="abort"))
