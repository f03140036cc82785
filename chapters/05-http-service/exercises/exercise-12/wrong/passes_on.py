"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        super()._drop_late(req, token)
