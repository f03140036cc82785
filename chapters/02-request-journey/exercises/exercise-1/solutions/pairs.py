"""Messages and their ids are paired first, and then sorted by what became of them."""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, AbortMsg, ErrorReply, TokenizeMsg, UserMsg, UserReply
from minisgl_tutor.tokenizer.server import TokenizeWorker

MADE = ("minisgl_tutor/server/frontend.py", "FrontendManager.new_user")
SENT = ("server/frontend.py", "FrontendManager.submit")
RECEIVED = ("server/frontend.py", "listen()")


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(
        self, msgs: list[TokenizeMsg | AbortMsg]
    ) -> tuple[list[UserMsg | AbortBackendMsg], list[UserReply | ErrorReply]]:
        asked = [msg for msg in msgs if isinstance(msg, TokenizeMsg)]
        ids = dict(zip((msg.uid for msg in asked), self.tokenize_manager.tokenize(asked), strict=True))
        backend: list[UserMsg | AbortBackendMsg] = []
        for msg in msgs:
            found = None if isinstance(msg, AbortMsg) else ids[msg.uid]
            if isinstance(msg, AbortMsg):
                backend.append(AbortBackendMsg(msg.uid))
            elif isinstance(found, list):
                backend.append(UserMsg(msg.uid, found, msg.sampling_params))
        return backend, [each for each in ids.values() if isinstance(each, ErrorReply)]
