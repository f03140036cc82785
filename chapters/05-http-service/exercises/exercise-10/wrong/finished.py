"""A finished message looks like an answer that happens to be empty.

Fails: whole: looks-fine
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg, UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        if len(msg.input_ids) >= self.max_len:
            self.reply.append(DetokenizeMsg(msg.uid, finished=True, finish_reason="length"))
            return
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
