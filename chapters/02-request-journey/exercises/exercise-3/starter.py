"""Chapter 2, exercise 3: an abort ends its request wherever it is, and all that it holds comes back.

This scheduler takes an aborted request out of the running ones, and that is all that it
does. What to do is in exercise-2.3.md beside this file.
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        self.decode_manager.abort_req(msg.uid)
