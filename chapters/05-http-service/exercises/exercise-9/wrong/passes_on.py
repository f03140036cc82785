"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        super()._send_aborted(uid)
