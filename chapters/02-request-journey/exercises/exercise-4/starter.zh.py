"""第 2 章练习 4：回答在最后一个 token 处结束，只有一个原因，也只结束一次。

每来一个 token，追加到 `req` 之后就会调用 `_finish_reason`。
题目要求见旁边的 exercise-2.4.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        """`token` 是 `req` 最新的一个：如果它也是最后一个，返回结束的原因，否则返回 None。"""
        reason: FinishReason | None = None
        if req.length > req.max_len:
            reason = "length"
        reason = "stop" if token in self.eos_token_ids else None
        return reason
