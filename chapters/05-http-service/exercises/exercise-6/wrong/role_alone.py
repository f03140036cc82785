"""The role goes out in a chunk of its own, before the first text.

Fails: one-reply: count
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.gaps.reference_wire import ReferenceWire
from minisgl_tutor.server.openai.answer import ResponseForm, to_json


class MyFrontendManager(ReferenceWire):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        yield b"data: " + to_json(self.chunk(uid, {"role": "assistant"}, None)) + b"\n\n"
        async for ack in self.wait_for_ack(uid):
            delta = {}
            if ack.incremental_output:
                delta["content"] = ack.incremental_output
            yield b"data: " + to_json(self.chunk(uid, delta, None)) + b"\n\n"
            if ack.finished:
                break
        yield b"data: " + to_json(self.chunk(uid, {}, "stop")) + b"\n\n"
        yield b"data: [DONE]\n\n"

    def chunk(self, uid: int, delta: dict[str, str], reason: str | None) -> dict[str, Any]:
        choice = {"delta": delta, "index": 0, "finish_reason": reason}
        return {"id": f"cmpl-{uid}", "object": "text_completion.chunk", "choices": [choice]}
