"""A dictionary's text is Python's, and no JSON.

Fails: one-reply: not-json
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.gaps.reference_wire import ReferenceWire
from minisgl_tutor.server.openai.answer import ResponseForm


class MyFrontendManager(ReferenceWire):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        first = True
        async for ack in self.wait_for_ack(uid):
            delta = {"role": "assistant"} if first else {}
            first = False
            if ack.incremental_output:
                delta["content"] = ack.incremental_output
            yield b"data: " + str(self.chunk(uid, delta, None)).encode() + b"\n\n"
            if ack.finished:
                break
        yield b"data: " + str(self.chunk(uid, {}, "stop")).encode() + b"\n\n"
        yield b"data: [DONE]\n\n"

    def chunk(self, uid: int, delta: dict[str, str], reason: str | None) -> dict[str, Any]:
        choice = {"delta": delta, "index": 0, "finish_reason": reason}
        return {"id": f"cmpl-{uid}", "object": "text_completion.chunk", "choices": [choice]}
