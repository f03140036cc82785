"""Prompts go first, as many as fit, and the budget is forgotten.

Fails: two-wait: other-step
"""

from __future__ import annotations

from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        batch = self.prefill_manager.schedule_next_batch(self.max_len * self.table_manager.num_slots)
        if batch is None:
            self._make_room()
            batch = self.decode_manager.schedule_next_batch()
        return None if batch is None else prepare_batch(batch, self.table_manager)
