"""The detokenizer knows a request by its first token: before that there is nobody to forget."""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        req = self.requests[uid]
        if req.length > req.prompt_len:
            self.reply.append(DetokenizeMsg(uid, finished=True, finish_reason="abort", usage=req.usage))
