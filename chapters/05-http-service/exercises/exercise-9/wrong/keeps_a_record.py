"""All are told; which requests were aborted is written down, and stays there for ever.

Fails: many: grows
"""

from __future__ import annotations

import logging
from typing import Any

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)


class MyScheduler(Scheduler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.history: list[int] = []

    def _send_aborted(self, uid: int) -> None:
        self.history.append(uid)
        logger.info("request %d is aborted", uid)
        self.reply.append(DetokenizeMsg(uid=uid, finished=True, finish_reason="abort"))
