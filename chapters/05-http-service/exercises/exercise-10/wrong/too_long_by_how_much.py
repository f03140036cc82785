"""The client is told that its prompt is too long, and not what would do.

Fails: whole: no-limit
"""

from __future__ import annotations

from minisgl_tutor.message import ErrorReply, UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        if len(msg.input_ids) >= self.max_len:
            self.reply.append(ErrorReply(msg.uid, "the prompt is too long", 400, "context_length_exceeded"))
            return
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
