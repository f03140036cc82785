"""The list of those that live says whether there is anything to end, and both queues lose it."""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        req = self.requests.get(msg.uid)
        if req is None or req.ended:
            return
        self.prefill_manager.waiting.pop(msg.uid, None)
        self.decode_manager.running.pop(msg.uid, None)
        req.aborted = True
        self._end_req(req)
