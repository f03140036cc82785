"""Only the running ones are asked: one that waits starts later, for nobody.

Fails: waiting: runs-on
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        req = self.decode_manager.abort_req(msg.uid)
        if req is not None:
            req.aborted = True
            self._end_req(req)
