"""Abort and last token both end it, and the end asks first whether there is anything left to give back."""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        self._give_back(req)
        if token in self.eos_token_ids:
            self._give_back(req)

    def _give_back(self, req: Req) -> None:
        if req.slot is not None and not req.in_flight:
            self._release_if_drained(req)
