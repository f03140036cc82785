"""Whatever ends it, the reason is told to be the token.

Fails: limit: reason
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        is_eos = token in self.eos_token_ids and not req.sampling_params.ignore_eos
        return "stop" if is_eos or not req.can_decode else None
