"""A cancelled request may have one token more: one that waits is computed for that.

Fails: waiting: made-for-nobody
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
            await self.send_one(AbortMsg(uid=uid))
        self.forget(uid)


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(self, msgs: list[TokenizeMsg | AbortMsg]) -> tuple[Backend, Frontend]:
        return super()._tokenize(msgs)


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if isinstance(msg, UserMsg):
            self._add_request(msg)
        elif isinstance(msg, AbortBackendMsg) and msg.uid in self.requests:
            # It ends with the next token, as one does that has all of its tokens.
            req = self.requests[msg.uid]
            req.max_len = req.length + 1
