"""Who gets the last token is taken for one that has been dealt with.

Fails: abort-eos: no-end
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        if not self._is_last(req, token):
            self._release_if_drained(req)

    def _is_last(self, req: Req, token: int) -> bool:
        return token in self.eos_token_ids or req.length + 1 == req.max_len
