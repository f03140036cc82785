"""Concepts, exercise 6: what streaming improves.

This front end gives a client that wants a stream a whole answer, cut into pieces; and the measures that
were to show the difference are made up. What to do is in exercise-5c.6.md beside this file.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.server.openai.sse import DONE, event


class MyFrontendManager(FrontendManager):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        replies = [ack async for ack in self.wait_for_ack(uid)]
        text = "".join(ack.incremental_output for ack in replies)
        for begin in range(0, len(text), 8):
            yield event(form.chunk(text[begin : begin + 8], first=begin == 0))
        for body in form.ending(replies[-1]):
            yield event(body)
        yield DONE


async def measure(
    reads: AsyncIterator[bytes], streamed: bool, clock: Callable[[], float], forwards: Callable[[], int]
) -> dict[str, Any]:
    return {"first": 0.1, "total": 0.8, "forwards": 8, "text": ""}
