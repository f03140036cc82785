"""What cannot be served raises; one place turns that into the reply."""

from __future__ import annotations

from minisgl_tutor.message import ErrorReply, UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        try:
            self._file(msg)
        except ValueError as error:
            self.reply.append(ErrorReply(uid=msg.uid, message=str(error), status=422, param="messages"))

    def _file(self, msg: UserMsg) -> None:
        """Raises ValueError for a prompt that leaves no room."""
        if self.max_len <= len(msg.input_ids):
            raise ValueError(f"shorten the prompt to at most {self.max_len - 1} tokens")
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
