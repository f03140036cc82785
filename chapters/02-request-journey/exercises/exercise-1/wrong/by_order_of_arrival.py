"""The worker's own numbers, and replies are given back in the order in which requests came.

Fails: alone: other-uid
"""

from __future__ import annotations

from msgspec.structs import replace

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
                backend.append(AbortBackendMsg(uid=msg.uid))
                continue
            result = next(results)
            if isinstance(result, ErrorReply):
                errors.append(result)
            else:
                self.__dict__.setdefault("_came", []).append(msg.uid)
                backend.append(UserMsg(number, result, msg.sampling_params))
        return backend, errors

    def _send(self, backend: list[UserMsg | AbortBackendMsg], frontend: list[UserReply | ErrorReply]) -> None:
        came = self.__dict__.get("_came", [])
        super()._send(backend, [replace(reply, uid=came[0]) if came else reply for reply in frontend])
