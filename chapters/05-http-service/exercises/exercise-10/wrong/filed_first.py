"""It is entered among the living before it is looked at, and stays there.

Fails: whole: books
"""

from __future__ import annotations

from minisgl_tutor.message import ErrorReply, UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        req = self._new_req(msg.uid, msg.input_ids[: self.max_len - 1], msg.sampling_params)
        self.requests[msg.uid] = req
        if len(msg.input_ids) >= self.max_len:
            self.reply.append(ErrorReply(msg.uid, f"more than {self.max_len - 1} tokens", 400))
            return
        self.prefill_manager.add_one_req(req)
