"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from minisgl_tutor.engine.base import ForwardOutput
from minisgl_tutor.scheduler.batch import ForwardInput
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _schedule_next_batch(self) -> ForwardInput | None:
        return super()._schedule_next_batch()

    def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
        return super()._forward(forward_input)
