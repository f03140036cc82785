"""A request that is too long is dropped with a warning, and nobody is told (C5.163, C5.164)."""

from __future__ import annotations

import logging

from ..scheduler.scheduler import Scheduler

logger = logging.getLogger(__name__)


class SilentDrop(Scheduler):
    def _reject(self, uid: int, message: str, code: str, param: str | None = None) -> None:
        if code == "context_length_exceeded":
            logger.warning("request %s is dropped: %s", uid, message)
        else:
            super()._reject(uid, message, code, param)
