"""The engine is called to see whether it works, and then again.

Fails: one-request: calls-twice
"""

from __future__ import annotations

from minisgl_tutor.engine.base import ForwardOutput
from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if batch is None:
            self._make_room()
            batch = self.decode_manager.schedule_next_batch()
        return None if batch is None else prepare_batch(batch, self.table_manager)

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        self.engine.forward_batch(forward_input.batch)
        return super()._forward(forward_input)
