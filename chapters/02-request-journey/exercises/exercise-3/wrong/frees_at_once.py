"""Slot and pages go back at once, though the step in flight still writes to them.

Fails: in-flight: wrong-tokens
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
        if req is None:
            return
        req.ended = True
        self._send_aborted(req.uid)
        del self.requests[req.uid]
        self._free_req_resources(req)

    def _drop_late(self, req: Req, token: int) -> None:
        if req.slot is not None:
            super()._drop_late(req, token)
