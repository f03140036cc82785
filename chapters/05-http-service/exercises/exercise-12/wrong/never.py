"""A late token is dropped, and with it the only occasion to give anything back.

Fails: abort-amid: no-end
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        """Nobody waits for it."""
