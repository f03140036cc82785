"""The engine is called where the step is chosen, and `_forward` only hands the result over.

Fails: one-request: calls-early
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
        if batch is None:
            return None
        chosen = prepare_batch(batch, self.table_manager)
        self._output = super()._forward(chosen)
        return chosen

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        return self._output
