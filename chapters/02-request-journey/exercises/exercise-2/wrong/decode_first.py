"""The running ones go first: who waits starves while they run.

Fails: prefill-first: other-step
"""

from __future__ import annotations

from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        self._make_room()
        batch = self.decode_manager.schedule_next_batch()
        if batch is None:
            batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        return None if batch is None else prepare_batch(batch, self.table_manager)
