"""The tokens of the prompt are counted against max_tokens.

Fails: limit: messages
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        is_eos = token in self.eos_token_ids and not req.sampling_params.ignore_eos
        if is_eos:
            return "stop"
        return "length" if req.length >= req.sampling_params.max_tokens else None
