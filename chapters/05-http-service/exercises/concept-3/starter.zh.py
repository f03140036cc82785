"""概念练习 3：一个请求的各个阶段，各在自己的进程里。

每来一个请求，提供 HTTP 服务的进程就调用一次 `api`，由它逐段给出回答；其余三个函数，
每个都由一个单独的进程运行。现在的服务里，什么都由 `api` 自己做。
题目要求见旁边的 exercise-5c.3.zh.md。
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any


async def api(process: Any, uid: int, text: str, max_tokens: int) -> AsyncIterator[str]:
    ids = process.encode(text)
    for _ in range(max_tokens):
        token = process.step({uid: ids})[uid]
        ids.append(token)
        yield process.decode([token])


async def tokenizer(process: Any) -> None:
    while True:
        await process.receive()


async def scheduler(process: Any) -> None:
    while True:
        await process.receive()


async def detokenizer(process: Any) -> None:
    while True:
        await process.receive()
