"""The request is refused, and its message kept under its uid, for whoever may ask later.

Fails: many: grows
"""

from __future__ import annotations

import logging
from typing import Any

from minisgl_tutor.message import ErrorReply, UserMsg
from minisgl_tutor.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)


class MyScheduler(Scheduler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.refused: dict[int, UserMsg] = {}

    def _add_request(self, msg: UserMsg) -> None:
        if len(msg.input_ids) >= self.max_len:
            logger.warning("request %d has too long a prompt: it is dropped", msg.uid)
            text = f"{len(msg.input_ids)} tokens are too many: all together may be {self.max_len}"
            self.refused[msg.uid] = msg
            self.reply.append(ErrorReply(uid=msg.uid, message=text, status=400))
            return
        req = self._new_req(msg.uid, msg.input_ids, msg.sampling_params)
        self.requests[msg.uid] = req
        self.prefill_manager.add_one_req(req)
