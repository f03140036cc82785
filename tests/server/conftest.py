"""A front end on links in memory: what it sends can be read, and replies are fed by hand."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from minisgl_tutor.links import MemoryAsyncPull, MemoryAsyncPush, MemoryChannel, MemoryPull
from minisgl_tutor.message import BatchFrontendMsg, ErrorReply, UserReply
from minisgl_tutor.server.frontend import FrontendManager


@dataclass
class Rig:
    cls: type[FrontendManager] = FrontendManager
    backlog_limit: int = 4096
    backlog_bytes: int = 1 << 20
    tokenizers: int = 1
    outbox: list[MemoryChannel] = field(init=False)
    inbox: MemoryChannel = field(init=False)
    state: FrontendManager = field(init=False)

    def __post_init__(self) -> None:
        self.outbox = [MemoryChannel(f"api>tokenizer-{i}") for i in range(self.tokenizers)]
        self.inbox = MemoryChannel("detokenizer>api")
        self.state = self.cls(
            [MemoryAsyncPush(channel) for channel in self.outbox],
            MemoryAsyncPull(self.inbox),
            self.backlog_limit,
            self.backlog_bytes,
        )

    def feed(self, *replies: UserReply | ErrorReply) -> None:
        self.inbox.send(BatchFrontendMsg(list(replies)) if len(replies) != 1 else replies[0])

    def sent(self, tokenizer: int = 0) -> list[object]:
        return list(MemoryPull(self.outbox[tokenizer]).drain(blocking=False))


@pytest.fixture
def rig() -> type[Rig]:
    return Rig
