"""Of the aborts that come together only the first is carried out.

Fails: two-at-once: runs-on
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def receive_msg(self, blocking: bool) -> list[Single]:
        msgs = super().receive_msg(blocking)
        aborts = [msg for msg in msgs if isinstance(msg, AbortBackendMsg)]
        return [msg for msg in msgs if msg not in aborts[1:]]

    def _process_one_msg(self, msg: Single) -> None:
        super()._process_one_msg(msg)
