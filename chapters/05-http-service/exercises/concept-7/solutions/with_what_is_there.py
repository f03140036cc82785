"""The methods that the classes have for it do the work."""

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
        await self.abort_user(uid)
        self.forget(uid)


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(self, msgs: list[TokenizeMsg | AbortMsg]) -> tuple[Backend, Frontend]:
        return super()._tokenize(msgs)


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        super()._process_one_msg(msg)
