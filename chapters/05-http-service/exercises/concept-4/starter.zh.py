"""概念练习 4：每条回复都找到自己的客户端。

`Front` 在许多客户端和一个后端之间。每来一个客户端就调用一次 `ask`，由它逐段给出回答。
`send(mark, text, max_tokens)` 把请求交给后端，后端再带着得到的标记调用
`on_reply(mark, piece, finished)`。现在的类把每一段都给了等得最久的客户端。
题目要求见旁边的 exercise-5c.4.zh.md。
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
