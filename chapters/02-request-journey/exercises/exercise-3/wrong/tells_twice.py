"""The end is told when the abort comes, and again when the step in flight has run.

Fails: running: two-ends
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        req = self.prefill_manager.abort_req(msg.uid) or self.decode_manager.abort_req(msg.uid)
        if req is not None:
            req.aborted = True
            self._send_aborted(req.uid)
            self._end_req(req)
