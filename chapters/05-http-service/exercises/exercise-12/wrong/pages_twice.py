"""The slot is given back once; the pages are twice.

Fails: abort-eos: freed-live
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        pages = list(req.pages)
        self._release_if_drained(req)
        if req.aborted and self._is_last(req, token):
            self.cache_manager.free_pages += pages

    def _is_last(self, req: Req, token: int) -> bool:
        return token in self.eos_token_ids or req.length + 1 == req.max_len
