"""An end-of-sequence token that is ignored is not counted against the limit either.

Fails: eos-at-limit: unfinished
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:

        if token in self.eos_token_ids:
            return None if req.sampling_params.ignore_eos else "stop"
        return "length" if req.length >= req.max_len else None
