"""The error is kept until nobody runs: under load it never comes.

Fails: neighbours: late
"""

from __future__ import annotations

from functools import cached_property

from minisgl_tutor.message import ErrorReply, UserMsg
from minisgl_tutor.scheduler.scheduler import LastData, Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        if len(msg.input_ids) >= self.max_len:
            self.refused.append(ErrorReply(msg.uid, f"more than {self.max_len - 1} tokens", 400))
            return
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)

    @cached_property
    def refused(self) -> list[ErrorReply]:
        return []

    def _process_last_data(self, last_data: LastData | None) -> None:
        super()._process_last_data(last_data)
        if self.refused and not self.decode_manager.running:
            self.send_result(self.refused)
            self.refused.clear()
