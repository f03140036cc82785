"""The reply does not wait for the end of the round."""

from __future__ import annotations

from minisgl_tutor.message import ErrorReply, UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        room = self.max_len - len(msg.input_ids)
        if room < 1:
            message = f"{len(msg.input_ids)} of {self.max_len} tokens leave no room for an answer"
            self.send_result([ErrorReply(msg.uid, message, status=413, code="too_long")])
            return
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
