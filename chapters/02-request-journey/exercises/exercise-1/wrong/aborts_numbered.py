"""Requests keep their uid, aborts get their place in the batch.

Fails: abort: aborts
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, AbortMsg, ErrorReply, TokenizeMsg, UserMsg, UserReply
from minisgl_tutor.tokenizer.server import TokenizeWorker

MADE = ("server/frontend.py", "new_user")
SENT = ("server/frontend.py", "send_one")
RECEIVED = ("server/frontend.py", "listen")


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
                backend.append(AbortBackendMsg(uid=number))
                continue
            result = next(results)
            if isinstance(result, ErrorReply):
                errors.append(result)
            else:
                backend.append(UserMsg(msg.uid, result, msg.sampling_params))
        return backend, errors
