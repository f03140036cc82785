"""A front end alone: a reader's class on ``FrontendManager``, whose replies a drill files by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

from ...links import MemoryAsyncPull, MemoryChannel
from ...message import Message, UserReply
from ...server.frontend import FrontendManager

T = TypeVar("T")

PATIENCE_S = 60.0
"""Virtual seconds after which a consumer that has not ended is left alone."""


class SentBox:
    """The front end's link to its one tokenizer: keeps what was sent, and when (in virtual microseconds)."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, Message]] = []

    async def put(self, msg: Message) -> None:
        self.put_nowait(msg)

    def put_nowait(self, msg: Message) -> None:
        self.sent.append((round(asyncio.get_running_loop().time() * 1e6), msg))

    def close(self) -> None:
        """Nothing is open."""


class Front:
    """One front end with its two links in memory. ``inbox`` is where replies come in."""

    def __init__(self, cls: type[FrontendManager]) -> None:
        self.box = SentBox()
        self.inbox = MemoryChannel(">api")
        self.frontend = cls([self.box], MemoryAsyncPull(self.inbox))


def reply(uid: int, text: str, finished: bool = False) -> UserReply:
    """A reply with this text, the last one if ``finished``."""
    return UserReply(
        uid=uid,
        incremental_output=text,
        finished=finished,
        finish_reason="length" if finished else None,
    )


class Counted(Generic[T]):
    """An awaitable that counts how often it was resumed, over all that share ``tally``."""

    def __init__(self, awaitable: Awaitable[T], tally: list[int]) -> None:
        self._awaitable = awaitable
        self._tally = tally

    def __await__(self) -> Generator[Any, Any, T]:
        steps = self._awaitable.__await__()
        go_on: Callable[[], Any] = partial(next, steps)
        while True:
            try:
                waits_for = go_on()
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]
            go_on = partial(next, steps)
            try:
                yield waits_for
            except BaseException as error:  # for what waits: a timeout of its own is a cancellation, too
                go_on = partial(steps.throw, error)
            self._tally[0] += 1
