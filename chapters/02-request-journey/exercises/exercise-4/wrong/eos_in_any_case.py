"""Who asked to ignore the end-of-sequence token is ended by it all the same.

Fails: ignore-eos: messages
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        if token in self.eos_token_ids:
            return "stop"
        return None if req.can_decode else "length"
