"""Each read is taken for one event.

Fails: report-whole: raised
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
    begun, first, text = clock(), None, ""
    async for data in reads:
        body = json.loads(data.removeprefix(b"data: ").removesuffix(b"data: [DONE]\n\n"))
        choice = body["choices"][0]
        text += choice["delta" if streamed else "message"].get("content", "")
        if text and first is None:
            first = clock() - begun
    return {"first": first, "total": clock() - begun, "forwards": forwards(), "text": text}
