"""All comes back; the aborted requests stay on a list of the scheduler's own.

Fails: many: grows
"""

from __future__ import annotations

from typing import Any

from minisgl_tutor.message import AbortBackendMsg
from minisgl_tutor.message.codec import Single
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.gone: list[Req] = []

    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        req = self.decode_manager.abort_req(msg.uid)
        if req is None:
            req = self.prefill_manager.abort_req(msg.uid)
        if req is None:
            return
        self.gone.append(req)
        req.aborted = True
        self._end_req(req)
