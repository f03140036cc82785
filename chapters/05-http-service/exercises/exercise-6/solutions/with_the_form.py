"""The form that the routes hand over knows how a chunk looks; the encoder says when each is due."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from minisgl_tutor.gaps.reference_wire import ReferenceWire
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.server.openai.sse import DONE, event


class MyFrontendManager(ReferenceWire):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        first = True
        async with aclosing(self.wait_for_ack(uid)) as replies:
            async for ack in replies:
                yield event(form.chunk(ack.incremental_output, first))
                first = False
                if ack.finished:
                    for body in form.ending(ack):
                        yield event(body)
                    yield DONE
                    return
