"""第 2 章练习 1：一个请求从前端到模型再回来，始终是同一个 uid。

这个分词进程把每一批请求重新编号。MADE、SENT、RECEIVED 各写一对（文件，方法）：uid 在哪里产生，
带着它的 `TokenizeMsg` 在哪里发出，带着它的 `UserReply` 在哪里收到。
题目要求见旁边的 exercise-2.1.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, AbortMsg, ErrorReply, TokenizeMsg, UserMsg, UserReply
from minisgl_tutor.tokenizer.server import TokenizeWorker

MADE = ("", "")
SENT = ("", "")
RECEIVED = ("", "")


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(
        self, msgs: list[TokenizeMsg | AbortMsg]
    ) -> tuple[list[UserMsg | AbortBackendMsg], list[UserReply | ErrorReply]]:
        tokenize_msg = [msg for msg in msgs if isinstance(msg, TokenizeMsg)]
        results = iter(self.tokenize_manager.tokenize(tokenize_msg))
        backend: list[UserMsg | AbortBackendMsg] = []
        errors: list[UserReply | ErrorReply] = []
        for number, msg in enumerate(msgs):
            if isinstance(msg, AbortMsg):
                backend.append(AbortBackendMsg(uid=msg.uid))
                continue
            result = next(results)
            if isinstance(result, ErrorReply):
                errors.append(result)
            else:
                backend.append(UserMsg(number, result, msg.sampling_params))
        return backend, errors
