"""The slot comes back and the pages do not.

Fails: running: pages-left
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        req = self.prefill_manager.abort_req(msg.uid) or self.decode_manager.abort_req(msg.uid)
        if req is None:
            return
        req.aborted = True
        self._end_req(req)

    def _free_req_resources(self, req: Req) -> None:
        self.table_manager.free(req)
        if not req.aborted:
            self.cache_manager.release(req)
