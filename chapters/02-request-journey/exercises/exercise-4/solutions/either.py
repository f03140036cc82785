"""Either ends it; where both do, the token is the reason."""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        is_eos = token in self.eos_token_ids and not req.sampling_params.ignore_eos
        if is_eos:
            return "stop"
        return None if req.can_decode else "length"
