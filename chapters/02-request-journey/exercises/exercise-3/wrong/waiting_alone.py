"""It returns as soon as the prefill manager knows nothing of it: one that runs goes on.

Fails: running: runs-on
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        req = self.prefill_manager.abort_req(msg.uid)
        if req is None:
            return
        req.aborted = True
        self._end_req(req)
