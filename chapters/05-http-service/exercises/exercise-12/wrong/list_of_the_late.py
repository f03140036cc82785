"""What was late is put on a list, from which nobody takes it.

Fails: abort-amid: grows
"""

from __future__ import annotations

from typing import Any

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.late: list[Req] = []

    def _drop_late(self, req: Req, token: int) -> None:
        """`token` has arrived for `req`, which had ended when the step was still in flight."""
        self.late.append(req)
        self._release_if_drained(req)
