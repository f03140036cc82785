"""Chapter 2, exercise 2: one method decides who is computed, another one calls the engine.

This scheduler lets the running ones go first, and `_forward`, which is to hand one step to the
engine, looks for more to compute by itself. What to do is in exercise-2.2.md beside
this file.
"""

from __future__ import annotations

from minisgl_tutor.engine.base import ForwardOutput
from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        """Who is computed in the next step; None if there is nothing to compute."""
        self._make_room()
        batch = self.decode_manager.schedule_next_batch()
        if batch is None:
            batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        return None if batch is None else prepare_batch(batch, self.table_manager)

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        """Hands the step to the engine."""
        waiting = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if waiting is not None:
            super()._forward(prepare_batch(waiting, self.table_manager))
        return super()._forward(forward_input)
