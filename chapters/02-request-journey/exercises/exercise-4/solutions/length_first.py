"""The limit first, then the token: at the limit either reason will do."""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:

        match (req.max_len - req.length, token in self.eos_token_ids, req.sampling_params.ignore_eos):
            case (0, _, _):
                return "length"
            case (_, True, False):
                return "stop"
        return None
