"""第 2 章练习 2：一个方法决定算谁，另一个方法调用引擎。

这个调度器让运行中的请求先走；`_forward` 本来只该把选好的一步交给引擎，却又自己去找别的来算。
题目要求见旁边的 exercise-2.2.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.engine.base import ForwardOutput
from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        """下一步算哪些请求；没有可算的就返回 None。"""
        self._make_room()
        batch = self.decode_manager.schedule_next_batch()
        if batch is None:
            batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        return None if batch is None else prepare_batch(batch, self.table_manager)

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        """把这一步交给引擎。"""
        waiting = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if waiting is not None:
            super()._forward(prepare_batch(waiting, self.table_manager))
        return super()._forward(forward_input)
