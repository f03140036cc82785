"""What stands behind the loop does not run for a client that leaves in it.

Fails: many: grows
"""

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
        self.queues: dict[Hashable, asyncio.Queue[tuple[str, bool]]] = {}

    async def ask(self, text: str, max_tokens: int) -> AsyncIterator[str]:
        mark = next(self.numbers)
        queue = self.queues[mark] = asyncio.Queue()
        self.send(mark, text, max_tokens)
        finished = False
        while not finished:
            piece, finished = await queue.get()
            yield piece
        del self.queues[mark]

    def on_reply(self, mark: Hashable, piece: str, finished: bool) -> None:
        if mark in self.queues:
            self.queues[mark].put_nowait((piece, finished))
