"""It is ended, but not as an aborted one: nobody is told, and its uid stays taken.

Fails: running: no-end
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
            self._end_req(req)
