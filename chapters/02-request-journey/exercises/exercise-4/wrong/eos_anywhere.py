"""It looks for an end-of-sequence token in all that is there, the prompt included.

Fails: eos: messages
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:

        eos = any(int(t) in self.eos_token_ids for t in req.token_ids[: req.length])
        if eos and not req.sampling_params.ignore_eos:
            return "stop"
        return "length" if req.length >= req.max_len else None
