"""What has been generated is counted against what may be."""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        generated = req.length - req.prompt_len
        ends = frozenset[int]() if req.sampling_params.ignore_eos else self.eos_token_ids
        reasons: dict[bool, FinishReason] = {generated == req.max_len - req.prompt_len: "length"}
        if token in ends:
            reasons[True] = "stop"
        return reasons.get(True)
