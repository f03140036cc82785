"""Exercise 6: role, text, reason and end mark, each in the event where it belongs.

The chunk's form is the reference's: `cmpl-{uid}`, `text_completion.chunk`, one chunk a reply. This
encoder has four faults. What to do is in exercise-6.md beside this file.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.gaps.reference_wire import ReferenceWire
from minisgl_tutor.server.openai.answer import ResponseForm, to_json


class MyFrontendManager(ReferenceWire):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        async for ack in self.wait_for_ack(uid):
            delta = {"role": "assistant", "content": ack.incremental_output}
            yield b"data: " + to_json(self.chunk(uid, delta, "stop" if ack.finished else None)) + b"\n"
            if ack.finished:
                break
        yield b"data: [DONE]\n"

    def chunk(self, uid: int, delta: dict[str, str], reason: str | None) -> dict[str, Any]:
        choice = {"delta": delta, "index": 0, "finish_reason": reason}
        return {"id": f"cmpl-{uid}", "object": "text_completion.chunk", "choices": [choice]}
