"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from minisgl_tutor.message import Single
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        super()._process_one_msg(msg)
