"""An outbox, and one task that hands over for all: the mark is a number."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from typing import Any


class Front:
    """Requests wait in an outbox; one task hands them over, in order."""

    def __init__(self, send: Callable[[Any, str, int], None]) -> None:
        self.send = send
        self.numbers = itertools.count(1)
        self.outbox: asyncio.Queue[tuple[int, str, int]] = asyncio.Queue()
        self.inboxes: dict[int, asyncio.Queue[tuple[str, bool]]] = {}
        self.sender: asyncio.Task[None] | None = None

    async def ask(self, text: str, max_tokens: int) -> AsyncIterator[str]:
        if self.sender is None:
            self.sender = asyncio.create_task(self._hand_over())
        mark = next(self.numbers)
        inbox = self.inboxes[mark] = asyncio.Queue()
        try:
            self.outbox.put_nowait((mark, text, max_tokens))
            finished = False
            while not finished:
                piece, finished = await inbox.get()
                yield piece
        finally:
            del self.inboxes[mark]

    def on_reply(self, mark: Any, piece: str, finished: bool) -> None:
        inbox = self.inboxes.get(mark)
        if inbox is not None:
            inbox.put_nowait((piece, finished))

    async def _hand_over(self) -> None:
        while True:
            self.send(*await self.outbox.get())
