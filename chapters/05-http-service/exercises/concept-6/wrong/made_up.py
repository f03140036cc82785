"""The stream is right, and its measures are made up.

Fails: report-streamed: report-text
"""

from __future__ import annotations

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
    return {"first": 0.1, "total": 0.309, "forwards": 3, "text": ""}
