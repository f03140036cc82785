"""A prompt that leaves room for one token is refused.

Fails: fits: wrong-answer
"""

from __future__ import annotations

from minisgl_tutor.message import ErrorReply, UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        if len(msg.input_ids) >= self.max_len - 1:
            message = f"the prompt has {len(msg.input_ids)} tokens; fewer than {self.max_len} are allowed"
            self.reply.append(ErrorReply(msg.uid, message, 400, "context_length_exceeded"))
            return
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
