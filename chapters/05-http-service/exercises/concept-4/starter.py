"""Concepts, exercise 4: each reply finds its client.

`Front` stands between clients and one backend. For each client `ask` is called, and gives the
pieces of its answer. `send(mark, text, max_tokens)` hands a request to the backend, which calls
`on_reply(mark, piece, finished)` with the mark that it was given. This one gives every piece to
the client that has waited longest. What to do is in exercise-5c.4.md beside this file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any


class Front:
    def __init__(self, send: Callable[[Any, str, int], None]) -> None:
        self.send = send
        self.waiting: list[asyncio.Queue[tuple[str, bool]]] = []

    async def ask(self, text: str, max_tokens: int) -> AsyncIterator[str]:
        mine: asyncio.Queue[tuple[str, bool]] = asyncio.Queue()
        self.waiting.append(mine)
        self.send(len(self.waiting), text, max_tokens)
        finished = False
        while not finished:
            piece, finished = await mine.get()
            yield piece
        self.waiting.remove(mine)

    def on_reply(self, mark: Any, piece: str, finished: bool) -> None:
        self.waiting[0].put_nowait((piece, finished))
