"""The scheduler ends with the first abort.

Fails: running: fails
"""

from __future__ import annotations

from minisgl_tutor.message import (
    AbortBackendMsg,
    AbortMsg,
    ErrorReply,
    Single,
    TokenizeMsg,
    UserMsg,
    UserReply,
)
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.tokenizer.server import TokenizeWorker

Backend = list[UserMsg | AbortBackendMsg]
Frontend = list[UserReply | ErrorReply]


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        if uid in self.unanswered:
            await self.send_one(AbortMsg(uid))
        self.forget(uid)


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(self, msgs: list[TokenizeMsg | AbortMsg]) -> tuple[Backend, Frontend]:
        backend: Backend = []
        frontend: Frontend = []
        for msg in msgs:
            if isinstance(msg, AbortMsg):
                backend.append(AbortBackendMsg(msg.uid))
            else:
                requests, errors = super()._tokenize([msg])
                backend += requests
                frontend += errors
        return backend, frontend


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if isinstance(msg, UserMsg):
            self._add_request(msg)
        elif isinstance(msg, AbortBackendMsg):
            raise RuntimeError(f"request {msg.uid} is gone")
