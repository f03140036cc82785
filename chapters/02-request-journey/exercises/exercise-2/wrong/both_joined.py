"""Prompts and running ones in one batch, which then has two phases.

Fails: prefill-first: other-step
"""

from __future__ import annotations

from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        self._make_room()
        running = self.decode_manager.schedule_next_batch()
        if batch is None:
            batch = running
        elif running is not None:
            for req, end in zip(running.reqs, running.ends, strict=True):
                batch.add(req, end)
        return None if batch is None else prepare_batch(batch, self.table_manager)
