"""Each kind of step is returned where it is found."""

from __future__ import annotations

from minisgl_tutor.engine.base import ForwardOutput
from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        waiting = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if waiting is not None:
            return prepare_batch(waiting, self.table_manager)
        self._make_room()
        running = self.decode_manager.schedule_next_batch()
        if running is not None:
            return prepare_batch(running, self.table_manager)
        return None

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        return super()._forward(forward_input)
