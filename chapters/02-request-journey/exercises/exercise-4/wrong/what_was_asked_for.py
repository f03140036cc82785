"""The limit that the request asks for, not the one that it got: what the server cannot hold never comes.

Fails: limit: unfinished
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:

        if token in self.eos_token_ids and not req.sampling_params.ignore_eos:
            return "stop"
        return "length" if req.length - req.prompt_len >= req.sampling_params.max_tokens else None
