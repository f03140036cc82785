"""It raises where nobody catches: the scheduler ends, for all.

Fails: whole: fails
"""

from __future__ import annotations

from minisgl_tutor.message import UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        if len(msg.input_ids) >= self.max_len:
            raise ValueError(f"the prompt of request {msg.uid} is too long")
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
