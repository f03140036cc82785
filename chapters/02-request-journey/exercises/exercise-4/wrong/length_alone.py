"""Only the limit ends an answer: the model's own end is passed over.

Fails: eos: messages
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        return None if req.can_decode else "length"
