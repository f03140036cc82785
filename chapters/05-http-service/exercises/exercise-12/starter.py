"""Chapter 5, exercise 12: what a request holds is given back once, whatever ends it.

An abort comes while the last token of its request is computed. Here the abort gives the
slot back, and so does the last token. What to do is in exercise-12.md beside this file.
"""

from __future__ import annotations

from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _drop_late(self, req: Req, token: int) -> None:
        """`token` has arrived for `req`, which had ended when the step was still in flight."""
        slot = req.slot
        self._release_if_drained(req)
        if req.aborted and slot is not None and self._is_last(req, token):
            self.table_manager.free_slots.append(slot)

    def _is_last(self, req: Req, token: int) -> bool:
        return token in self.eos_token_ids or req.length + 1 == req.max_len
