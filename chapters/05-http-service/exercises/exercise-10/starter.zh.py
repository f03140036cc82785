"""练习 10：prompt 太长，也要有回答。

每来一个请求，调度器就调用一次 `_add_request`。prompt 和回答合计最多 `self.max_len` 个 token，
prompt 自己就有这么多，回答就没有余地了。现在的类丢掉这样的请求。
放进 `self.reply` 的消息在本轮结束时发出。
题目要求见旁边的 exercise-10.zh.md。
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
