"""The worker drops the state and passes over later tokens; but the detokenizer may be another process.

Fails: own-process: left-behind
"""

from __future__ import annotations

from collections.abc import Sequence

from minisgl_tutor.message import (
    AbortBackendMsg,
    AbortMsg,
    DetokenizeMsg,
    ErrorReply,
    StopStringsMsg,
    TokenizeMsg,
    UserMsg,
    UserReply,
)
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.tokenizer.detokenize import DetokenizeManager
from minisgl_tutor.tokenizer.server import TokenizeWorker
from minisgl_tutor.tokenizer.tokenizer import Tokenizer


class MyScheduler(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        """The tokenizer has told the detokenizer."""


class MyTokenizeWorker(TokenizeWorker):
    def _tokenize(
        self, msgs: list[TokenizeMsg | AbortMsg]
    ) -> tuple[list[UserMsg | AbortBackendMsg], list[UserReply | ErrorReply]]:
        manager = self.detokenize_manager
        assert isinstance(manager, MyDetokenizeManager)
        for msg in msgs:
            if isinstance(msg, AbortMsg):
                manager.gone.add(msg.uid)
                manager.decode_map.pop(msg.uid, None)
        return super()._tokenize(msgs)


class MyDetokenizeManager(DetokenizeManager):
    def __init__(self, tokenizer: Tokenizer) -> None:
        super().__init__(tokenizer)
        self.gone: set[int] = set()

    def detokenize(
        self, msgs: Sequence[StopStringsMsg | DetokenizeMsg | ErrorReply]
    ) -> list[UserReply | ErrorReply]:
        return super().detokenize([msg for msg in msgs if msg.uid not in self.gone])
