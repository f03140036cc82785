"""概念练习 7：取消要经过每一层。

客户端离开，服务器会发现：处理一个请求的那次调用不论怎样结束，都会调用 `end_user`。可是在这里，
前端只忘掉已经答完的请求；分词进程不把中止往下传；调度器收到了也不理会。
题目要求见旁边的 exercise-5c.7.zh.md。
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
