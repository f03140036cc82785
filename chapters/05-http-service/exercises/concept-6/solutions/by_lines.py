"""The ending is held until the loop is over; the client reads line by line."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.server.openai.sse import DONE, event


class MyFrontendManager(FrontendManager):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        last = None
        async for ack in self.wait_for_ack(uid):
            if ack.incremental_output or last is None:
                yield event(form.chunk(ack.incremental_output, first=last is None))
            last = ack
        assert last is not None
        yield b"".join(event(body) for body in form.ending(last)) + DONE


class Meter:
    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.begun = clock()
        self.first: float | None = None
        self.text = ""

    def add(self, text: str) -> None:
        if text and self.first is None:
            self.first = self.clock() - self.begun
        self.text += text


async def measure(
    reads: AsyncIterator[bytes], streamed: bool, clock: Callable[[], float], forwards: Callable[[], int]
) -> dict[str, Any]:
    meter = Meter(clock)
    if streamed:
        async for line in lines(reads):
            name, _, value = line.partition(b": ")
            if name == b"data" and value != b"[DONE]":
                for choice in json.loads(value)["choices"]:
                    meter.add(choice["delta"].get("content") or "")
    else:
        body = b"".join([data async for data in reads])
        meter.add(json.loads(body)["choices"][0]["message"]["content"])
    total = clock() - meter.begun
    return {"first": meter.first, "total": total, "forwards": forwards(), "text": meter.text}


async def lines(reads: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for data in reads:
        *complete, rest = (rest + data).split(b"\n")
        for line in complete:
            yield line
