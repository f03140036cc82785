"""Whoever has stop strings is left to the detokenizer, which waits to be told.

Fails: stop-strings: left-behind
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        if not self.requests[uid].sampling_params.stop:
            self.reply.append(DetokenizeMsg(uid, finished=True, finish_reason="abort"))
