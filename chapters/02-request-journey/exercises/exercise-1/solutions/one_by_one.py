"""Each message by itself, in the order in which they came."""

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
        backend: list[UserMsg | AbortBackendMsg] = []
        errors: list[UserReply | ErrorReply] = []
        for msg in msgs:
            mine, wrong = super()._tokenize([msg])
            backend += mine
            errors += wrong
        return backend, errors
