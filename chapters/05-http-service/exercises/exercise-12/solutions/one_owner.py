"""One place gives back, and it waits for the steps in flight; what the token is does not matter."""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        self._release_if_drained(req)
