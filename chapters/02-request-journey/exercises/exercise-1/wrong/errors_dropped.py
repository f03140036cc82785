"""A request that cannot be tokenized is passed over, and its client waits.

Fails: refused: lost
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
        backend, _ = super()._tokenize(msgs)
        return backend, []
