"""Whatever was chosen is handed on, and nothing is as well.

Fails: one-request: raised
"""

from __future__ import annotations

from minisgl_tutor.scheduler.batch import ForwardInput, prepare_batch
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        batch = self.prefill_manager.schedule_next_batch(self.prefill_budget)
        if batch is None:
            self._make_room()
            batch = self.decode_manager.schedule_next_batch()
        return None if batch is None else prepare_batch(batch, self.table_manager)

    def overlap_loop(self) -> None:
        for msg in self.receive_msg(blocking=not self.busy):
            self._process_one_msg(msg)
        forward_input = self._schedule_next_batch()
        output = self._forward(forward_input)
        self._process_last_data(self.last_data)
        self.last_data = None if forward_input is None else (forward_input, output)
