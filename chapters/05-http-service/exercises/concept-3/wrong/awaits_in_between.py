"""It gives the loop away between two steps, and each step still holds it.

Fails: one-request: heart
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any


async def api(process: Any, uid: int, text: str, max_tokens: int) -> AsyncIterator[str]:
    ids = process.encode(text)
    for _ in range(max_tokens):
        await asyncio.sleep(0)
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
