"""The characters are right, and still everything is computed where HTTP is served.

Fails: one-request: heart
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any


async def api(process: Any, uid: int, text: str, max_tokens: int) -> AsyncIterator[str]:
    ids = process.encode(text)
    held: list[int] = []
    for _ in range(max_tokens):
        token = process.step({uid: ids})[uid]
        ids.append(token)
        held.append(token)
        if "\ufffd" not in (piece := process.decode(held)):
            yield piece
            held = []


async def tokenizer(process: Any) -> None:
    while True:
        await process.receive()


async def scheduler(process: Any) -> None:
    while True:
        await process.receive()


async def detokenizer(process: Any) -> None:
    while True:
        await process.receive()
