"""The end-of-sequence tokens are a set, which has no first one: the scheduler ends by it.

Fails: limit: fails
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        if self.eos_token_ids[0] == token and not req.sampling_params.ignore_eos:
            return "stop"
        return None if req.can_decode else "length"
