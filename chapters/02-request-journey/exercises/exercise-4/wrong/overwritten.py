"""What the limit said is overwritten by what the token says: an answer that reaches its limit never ends.

Fails: limit: unfinished
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        reason: FinishReason | None = None if req.can_decode else "length"
        is_eos = token in self.eos_token_ids and not req.sampling_params.ignore_eos
        reason = "stop" if is_eos else None
        return reason
