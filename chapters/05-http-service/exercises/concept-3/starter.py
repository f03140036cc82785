"""Concepts, exercise 3: the stages of a request, each in its process.

`api` is called for each request, in the process that serves HTTP, and gives the pieces of its answer; each
of the others is what a process of its own runs. In this service `api` does everything itself. What to do
is in exercise-5c.3.md beside this file.
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
