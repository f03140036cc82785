"""Replies are given to clients in the order in which they asked, by turns.

Fails: by-turns: foreign
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
        self.waiting: list[asyncio.Queue[tuple[str, bool]]] = []

    async def ask(self, text: str, max_tokens: int) -> AsyncIterator[str]:
        queue: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        self.waiting.append(queue)
        self.send(next(self.numbers), text, max_tokens)
        finished = False
        while not finished:
            piece, finished = await queue.get()
            yield piece

    def on_reply(self, mark: Hashable, piece: str, finished: bool) -> None:
        first = self.waiting.pop(0)
        first.put_nowait((piece, finished))
        if not finished:
            self.waiting.append(first)
