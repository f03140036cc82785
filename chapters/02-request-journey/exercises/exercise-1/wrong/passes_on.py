"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, AbortMsg, ErrorReply, TokenizeMsg, UserMsg, UserReply
from minisgl_tutor.tokenizer.server import TokenizeWorker


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(
        self, msgs: list[TokenizeMsg | AbortMsg]
    ) -> tuple[list[UserMsg | AbortBackendMsg], list[UserReply | ErrorReply]]:
        return super()._tokenize(msgs)
