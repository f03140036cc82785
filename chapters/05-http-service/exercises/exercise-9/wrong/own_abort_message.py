"""The detokenizer takes no AbortBackendMsg, and passes over it.

Fails: running: left-behind
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        self.send_result([AbortBackendMsg(uid)])  # type: ignore[list-item]
