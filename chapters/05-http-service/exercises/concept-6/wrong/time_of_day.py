"""The first content is told as what the clock says then, not as the time since the call.

Fails: report-streamed: report-first
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
            yield event(form.chunk(ack.incremental_output, first))
            first = False
            if ack.finished:
                for body in form.ending(ack):
                    yield event(body)
        yield DONE


async def measure(
    reads: AsyncIterator[bytes], streamed: bool, clock: Callable[[], float], forwards: Callable[[], int]
) -> dict[str, Any]:
    begin, first, text, data = clock(), None, "", b""
    async for read in reads:
        data += read
        while streamed and b"\n\n" in data:
            line, data = data.split(b"\n\n", 1)
            if line == b"data: [DONE]":
                continue
            for choice in json.loads(line[6:])["choices"]:
                piece = choice["delta"].get("content") or ""
                if piece and first is None:
                    first = clock()
                text += piece
    total = clock() - begin
    if not streamed:
        text, first = json.loads(data)["choices"][0]["message"]["content"], total
    return {"first": first, "total": total, "forwards": forwards(), "text": text}
