"""The abort ends at the scheduler; the detokenizer is not told and keeps its state (C5.161, C5.162)."""

from __future__ import annotations

from ..scheduler.scheduler import Scheduler


class ForgottenDecode(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        pass
