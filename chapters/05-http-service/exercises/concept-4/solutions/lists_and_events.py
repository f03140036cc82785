"""A list and an event for each mark, as the server has them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Hashable
from itertools import count
from typing import Any

Send = Callable[[Any, str, int], None]


class Front:
    def __init__(self, send: Send) -> None:
        self.send = send
        self.numbers = count()
        self.pieces: dict[Hashable, list[tuple[str, bool]]] = {}
        self.events: dict[Hashable, asyncio.Event] = {}

    async def ask(self, text: str, max_tokens: int) -> AsyncIterator[str]:
        mark = next(self.numbers)
        self.pieces[mark], self.events[mark] = [], asyncio.Event()
        try:
            self.send(mark, text, max_tokens)
            finished = False
            while not finished:
                await self.events[mark].wait()
                self.events[mark].clear()
                pending, self.pieces[mark] = self.pieces[mark], []
                for piece, last in pending:
                    finished = last
                    yield piece
        finally:
            del self.pieces[mark], self.events[mark]

    def on_reply(self, mark: Hashable, piece: str, finished: bool) -> None:
        if mark in self.pieces:
            self.pieces[mark].append((piece, finished))
            self.events[mark].set()
