"""The mark is the address of an object, which another object has some time after this one is gone.

Fails: one-by-one: same-mark
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any


class Front:
    def __init__(self, send: Callable[[Any, str, int], None]) -> None:
        self.send = send
        self.queues: dict[Any, asyncio.Queue[tuple[str, bool]]] = {}
        self.last: asyncio.Queue[tuple[str, bool]] | None = None

    async def ask(self, text: str, max_tokens: int) -> AsyncIterator[str]:
        mine: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        mark = id(mine)
        self.queues[mark] = mine
        self.send(mark, text, max_tokens)
        finished = False
        while not finished:
            piece, finished = await mine.get()
            yield piece
        self.last = self.queues.pop(mark)

    def on_reply(self, mark: Any, piece: str, finished: bool) -> None:
        self.queues[mark].put_nowait((piece, finished))
