"""One method ends a request that lives; the queues are searched by hand, and a step in flight waited for."""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if isinstance(msg, AbortBackendMsg):
            self._cancel(self.requests.get(msg.uid))
        else:
            super()._process_one_msg(msg)

    def _cancel(self, req: Req | None) -> None:
        """Takes ``req`` out and gives all back, at once or when the step in flight has run."""
        if req is None or req.ended:
            return
        for queue in (self.prefill_manager.waiting, self.decode_manager.running):
            if req.uid in queue:
                del queue[req.uid]
        req.ended = req.aborted = True
        if req.slot is not None:
            self.draining[req.slot] = req
        if not req.in_flight:
            self._release_if_drained(req)
