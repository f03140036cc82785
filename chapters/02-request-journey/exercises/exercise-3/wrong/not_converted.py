"""The scheduler is right, and the worker hands the abort on as it came, in a type that the scheduler drops.

Fails: client-leaves: made-for-nobody
"""

from __future__ import annotations

from typing import Any

from minisgl_tutor.message import AbortBackendMsg, AbortMsg, Single
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.tokenizer.server import TokenizeWorker


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not isinstance(msg, AbortBackendMsg):
            super()._process_one_msg(msg)
            return
        req = self.prefill_manager.abort_req(msg.uid) or self.decode_manager.abort_req(msg.uid)
        if req is not None:
            req.aborted = True
            self._end_req(req)


class MyTokenizeWorker(TokenizeWorker):
    def _send(self, backend: list[Any], frontend: list[Any]) -> None:
        unchanged = [AbortMsg(uid=msg.uid) if isinstance(msg, AbortBackendMsg) else msg for msg in backend]
        for msg in unchanged:
            self.send_backend.put(msg)
        super()._send([], frontend)
