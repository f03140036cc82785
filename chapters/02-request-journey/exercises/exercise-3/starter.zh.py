"""第 2 章练习 3：不论请求在哪里，中止都会结束它，并收回它占用的一切。

这个调度器只把被中止的请求从运行集合里拿掉，别的什么都不做。
题目要求见旁边的 exercise-2.3.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        self.decode_manager.abort_req(msg.uid)
