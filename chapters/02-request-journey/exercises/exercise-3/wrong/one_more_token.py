"""A running one is shortened, so that it ends with its next token; that step is still run.

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
        if req is not None:
            req.aborted = True
            self._end_req(req)
        elif msg.uid in self.decode_manager.running:
            req = self.decode_manager.running[msg.uid]
            req.max_len = min(req.max_len, max(req.length + 1, req.launched_len + 1))
