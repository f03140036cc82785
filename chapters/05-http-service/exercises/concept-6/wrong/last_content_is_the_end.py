"""The clock is stopped at the last event with a choice.

Fails: report-streamed: report-total
"""

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
            yield event(form.chunk(ack.incremental_output, first=first))
            first = False
        for body in form.ending(ack):
            yield event(body)
        yield DONE


async def measure(
    reads: AsyncIterator[bytes], streamed: bool, clock: Callable[[], float], forwards: Callable[[], int]
) -> dict[str, Any]:
    begin = clock()
    first = None
    text = ""
    buffer = b""
    async for read in reads:
        buffer += read
        while streamed and b"\n\n" in buffer:
            one, buffer = buffer.split(b"\n\n", 1)
            data = one.removeprefix(b"data: ")
            if data == b"[DONE]":
                continue
            for choice in json.loads(data)["choices"]:
                content = choice["delta"].get("content", "")
                if content and first is None:
                    first = clock() - begin
                text += content
                total = clock() - begin
    total = total if streamed else clock() - begin
    if not streamed:
        first = total
        text = json.loads(buffer)["choices"][0]["message"]["content"]
    return {"first": first, "total": total, "forwards": forwards(), "text": text}
