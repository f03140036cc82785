"""It is taken out of either queue and forgotten; its slot and its pages stay its own.

Fails: running: slots-left
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        req = self.prefill_manager.abort_req(msg.uid) or self.decode_manager.abort_req(msg.uid)
        if req is not None:
            req.ended = True
            self._send_aborted(req.uid)
            del self.requests[req.uid]

    def _drop_late(self, req: Req, token: int) -> None:
        """There is nothing more to do for it."""
