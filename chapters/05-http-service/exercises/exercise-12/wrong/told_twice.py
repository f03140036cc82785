"""The slot is given back once, and the end is told twice: as an abort, and as a finish.

Fails: abort-eos: two-ends
"""

from __future__ import annotations

from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        self._release_if_drained(req)
        if req.aborted and self._is_last(req, token):
            self.reply.append(DetokenizeMsg(req.uid, token, True, "stop", req.usage))

    def _is_last(self, req: Req, token: int) -> bool:
        return token in self.eos_token_ids or req.length + 1 == req.max_len
