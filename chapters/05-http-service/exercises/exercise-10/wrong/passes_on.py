"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from minisgl_tutor.message import UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        super()._add_request(msg)
