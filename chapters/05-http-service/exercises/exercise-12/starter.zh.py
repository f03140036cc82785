"""练习 12：不论请求因为什么结束，它占用的东西只归还一次。

请求的最后一个 token 正在计算，中止来了。在这里，中止时归还了槽位，
最后一个 token 到来时又归还一次。
题目要求见旁边的 exercise-12.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        """`req` 的 `token` 到了，而 `req` 在那一步还在途时就已经结束。"""
        slot = req.slot
        self._release_if_drained(req)
        if req.aborted and slot is not None and self._is_last(req, token):
            self.table_manager.free_slots.append(slot)

    def _is_last(self, req: Req, token: int) -> bool:
        return token in self.eos_token_ids or req.length + 1 == req.max_len
