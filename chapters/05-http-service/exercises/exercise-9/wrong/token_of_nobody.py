"""The detokenizer is told, with a token that was never computed, as each message seems to need one.

Fails: running: token
"""

from __future__ import annotations

import logging

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        logger.info("request %d is aborted", uid)
        self.reply.append(DetokenizeMsg(uid=uid, next_token=0, finished=True, finish_reason="abort"))
