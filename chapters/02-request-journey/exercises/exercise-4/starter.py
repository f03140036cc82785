"""Chapter 2, exercise 4: an answer ends with its last token, for one reason, once.

`_finish_reason` is asked for each token that has arrived, after it was appended to `req`. What to do is
in exercise-2.4.md beside this file.
"""

from __future__ import annotations

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        """Why `token`, the newest that `req` has, is its last one; None if it is not."""
        reason: FinishReason | None = None
        if req.length > req.max_len:
            reason = "length"
        reason = "stop" if token in self.eos_token_ids else None
        return reason
