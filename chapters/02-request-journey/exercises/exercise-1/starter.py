"""Chapter 2, exercise 1: one uid goes with a request from the front end to the model and back.

This worker numbers the requests of each batch anew. MADE, SENT and RECEIVED are to say where
(file, method) a uid is made, where its `TokenizeMsg` is sent, and where its `UserReply` is
received. What to do is in exercise-2.1.md beside this file.
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
