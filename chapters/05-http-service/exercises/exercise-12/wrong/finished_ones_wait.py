"""Aborted ones are dealt with, and who ended by a token while a step was in flight is forgotten.

Fails: end-amid: slots-left
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        if req.aborted:
            self._release_if_drained(req)
