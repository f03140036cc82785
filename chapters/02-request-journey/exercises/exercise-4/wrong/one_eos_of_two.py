"""A model may have several end-of-sequence tokens; this knows the smallest.

Fails: eos: messages
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:

        if token == min(self.eos_token_ids, default=-1) and not req.sampling_params.ignore_eos:
            return "stop"
        return "length" if req.length >= req.max_len else None
