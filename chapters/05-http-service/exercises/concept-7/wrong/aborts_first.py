"""The cancel passes every layer. Aborts are urgent, the tokenizer worker thinks, and go first.

Fails: one-batch: overtakes
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, AbortMsg, ErrorReply, TokenizeMsg, UserMsg, UserReply
from minisgl_tutor.message.codec import Single
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.tokenizer.server import TokenizeWorker

Backend = list[UserMsg | AbortBackendMsg]
Frontend = list[UserReply | ErrorReply]


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        left = uid in self.unanswered
        self.forget(uid)
        self.unanswered.discard(uid)
        if left:
            await self.send_one(AbortMsg(uid=uid))


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(self, msgs: list[TokenizeMsg | AbortMsg]) -> tuple[Backend, Frontend]:
        backend: Backend = []
        frontend: Frontend = []
        for msg in msgs:
            if isinstance(msg, AbortMsg):
                backend.insert(0, AbortBackendMsg(uid=msg.uid))
            else:
                more, errors = super()._tokenize([msg])
                backend += more
                frontend += errors
        return backend, frontend


class MyScheduler(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if isinstance(msg, UserMsg):
            self._add_request(msg)
        elif isinstance(msg, AbortBackendMsg):
            req = self.prefill_manager.abort_req(msg.uid) or self.decode_manager.abort_req(msg.uid)
            if req is not None:
                req.aborted = True
                self._end_req(req)
