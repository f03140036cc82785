"""Nothing is given to the cache before the end: no duplicates, and no sharing while a request runs.

Fails: shares: not-shared
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _keep_prefix(self, req: Req) -> None:
        """Its pages go into the cache when it ends."""
