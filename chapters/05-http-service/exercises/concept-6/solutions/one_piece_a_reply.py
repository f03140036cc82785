"""What a reply brings goes out in one piece; the client decodes characters as they become complete."""

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
            bodies = [form.chunk(ack.incremental_output, first), *(form.ending(ack) if ack.finished else [])]
            yield b"".join(map(event, bodies)) + (DONE if ack.finished else b"")
            first = False


async def measure(
    reads: AsyncIterator[bytes], streamed: bool, clock: Callable[[], float], forwards: Callable[[], int]
) -> dict[str, Any]:
    import codecs

    decoder = codecs.getincrementaldecoder("utf-8")()
    begun = clock()
    waiting, pieces, first = "", list[str](), None
    async for data in reads:
        waiting += decoder.decode(data)
        while streamed and "\n\n" in waiting:
            one, _, waiting = waiting.partition("\n\n")
            if one == "data: [DONE]":
                continue
            content = json.loads(one[6:])["choices"][0]["delta"].get("content")
            if content:
                pieces.append(content)
                first = clock() - begun if first is None else first
    total = clock() - begun
    if not streamed:
        pieces.append(json.loads(waiting)["choices"][0]["message"]["content"])
        first = total
    return {"first": first, "total": total, "forwards": forwards(), "text": "".join(pieces)}
