"""As long as somebody waits nobody decodes, even if who waits does not fit.

Fails: no-slot: other-step
"""

from __future__ import annotations

from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        if self.prefill_manager.runnable:
            batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        else:
            self._make_room()
            batch = self.decode_manager.schedule_next_batch()
        return None if batch is None else prepare_batch(batch, self.table_manager)
