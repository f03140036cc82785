"""`_forward` calls the engine with just what it is given, and notes how far each request comes by it."""

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
        output = self.engine.forward_batch(forward_input.batch)
        for req, end in zip(forward_input.reqs, forward_input.batch.seq_lens.tolist(), strict=True):
            req.launch(end)
            if end == req.prefill_len:
                self.decode_manager.add_req(req)
        return output
