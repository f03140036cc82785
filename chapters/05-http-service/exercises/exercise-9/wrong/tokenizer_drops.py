"""The worker drops the state when the abort passes; a token that is still under way makes a new one.

Fails: running: left-behind
"""

from __future__ import annotations

from minisgl_tutor.message import AbortBackendMsg, AbortMsg, ErrorReply, TokenizeMsg, UserMsg, UserReply
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.tokenizer.server import TokenizeWorker


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        """The tokenizer has told the detokenizer."""


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(
        self, msgs: list[TokenizeMsg | AbortMsg]
    ) -> tuple[list[UserMsg | AbortBackendMsg], list[UserReply | ErrorReply]]:
        for msg in msgs:
            if isinstance(msg, AbortMsg):
                self.detokenize_manager.decode_map.pop(msg.uid, None)
        return super()._tokenize(msgs)
