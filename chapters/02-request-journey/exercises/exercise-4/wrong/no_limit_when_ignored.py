"""Who ignores the end-of-sequence token has no limit either.

Fails: ignore-eos: unfinished
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        if req.sampling_params.ignore_eos:
            return None
        if token in self.eos_token_ids:
            return "stop"
        return None if req.can_decode else "length"
