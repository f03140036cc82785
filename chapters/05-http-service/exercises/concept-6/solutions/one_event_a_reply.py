"""Each reply is an event; the client gathers bytes until an event is complete."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.server.openai.sse import DONE, event


class MyFrontendManager(FrontendManager):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        first = True
        async for ack in self.wait_for_ack(uid):
            yield event(form.chunk(ack.incremental_output, first))
            first = False
            if ack.finished:
                for body in form.ending(ack):
                    yield event(body)
        yield DONE


async def measure(
    reads: AsyncIterator[bytes], streamed: bool, clock: Callable[[], float], forwards: Callable[[], int]
) -> dict[str, Any]:
    begun, first, text, rest = clock(), None, "", b""
    async for data in reads:
        rest += data
        if streamed:
            *events, rest = rest.split(b"\n\n")
            for each in events:
                if each != b"data: [DONE]":
                    delta = json.loads(each.removeprefix(b"data: "))["choices"][0]["delta"]
                    text += delta.get("content", "")
        if text and first is None:
            first = clock() - begun
    total = clock() - begun
    if not streamed:
        text, first = json.loads(rest)["choices"][0]["message"]["content"], total
    return {"first": first, "total": total, "forwards": forwards(), "text": text}
