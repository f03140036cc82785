"""The limit is looked at first, and then the token."""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        if req.length >= req.max_len:
            return "length"
        if token in self.eos_token_ids and not req.sampling_params.ignore_eos:
            return "stop"
        return None
