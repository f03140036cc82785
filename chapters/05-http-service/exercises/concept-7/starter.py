"""Concepts, exercise 7: a cancel passes every layer.

A client that leaves is noticed: `end_user` is called when the call that served a request is over,
whatever ended it. Here the front end then only forgets requests that were answered; the tokenizer
worker keeps aborts to itself; and the scheduler has no use for them. What to do is in exercise-5c.7.md
beside this file.
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
        if uid not in self.unanswered:
            self.forget(uid)


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(self, msgs: list[TokenizeMsg | AbortMsg]) -> tuple[Backend, Frontend]:
        return super()._tokenize([msg for msg in msgs if isinstance(msg, TokenizeMsg)])


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if isinstance(msg, UserMsg):
            self._add_request(msg)
