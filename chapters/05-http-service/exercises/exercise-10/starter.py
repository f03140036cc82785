"""Exercise 10: a prompt that is too long is answered, too.

The scheduler calls `_add_request` for each request that comes. `self.max_len` tokens is what
prompt and answer may have together, so a prompt of that many leaves no room for an answer.
This class drops such a request. What is put into `self.reply` is sent at the end of the
round. What to do is in exercise-10.md beside this file.
"""

from __future__ import annotations

import logging

from minisgl_tutor.message import UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)


class MyScheduler(Scheduler):
    def _add_request(self, msg: UserMsg) -> None:
        if len(msg.input_ids) >= self.max_len:
            logger.warning("request %d has too long a prompt: it is dropped", msg.uid)
            return
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
