"""练习 9：请求被中止时，也要告诉解码进程。

被中止的请求已经没有任何一步在途时，调度器调用 `_send_aborted`；放进 `self.reply` 的消息，
在本轮结束时发给解码进程。现在的类谁也没有通知。
题目要求见旁边的 exercise-9.zh.md。
"""

from __future__ import annotations

import logging

from minisgl_tutor.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        logger.info("request %d is aborted", uid)
