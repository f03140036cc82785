"""The prompt is cut to what fits, and its client is answered to another one.

Fails: whole: computed
"""

from __future__ import annotations

from minisgl_tutor.message import UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        if len(msg.input_ids) >= self.max_len:
            msg = UserMsg(msg.uid, msg.input_ids[: self.max_len - 1], msg.sampling_params)
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
