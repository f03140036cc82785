"""A generator of bodies, and around it what makes events of them. Lines may end by CR and LF."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator

from minisgl_tutor.gaps.reference_wire import ReferenceWire
from minisgl_tutor.server.openai.answer import ResponseForm


class MyFrontendManager(ReferenceWire):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        async for delta, reason in self.deltas(uid):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            body = {"choices": [choice], "object": "text_completion.chunk", "id": f"cmpl-{uid}"}
            yield f"data:{json.dumps(body, ensure_ascii=False)}\r\n\r\n".encode()
        yield b"data:[DONE]\r\n\r\n"

    async def deltas(self, uid: int) -> AsyncGenerator[tuple[dict[str, str], str | None], None]:
        role = {"role": "assistant"}
        async for ack in self.wait_for_ack(uid):
            yield role | ({"content": ack.incremental_output} if ack.incremental_output else {}), None
            role = {}
        yield {}, "stop"
