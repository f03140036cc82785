"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from minisgl_tutor.gaps.reference_wire import ReferenceWire
from minisgl_tutor.server.openai.answer import ResponseForm


class MyFrontendManager(ReferenceWire):
    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        async for each in super().stream_chat_completions(uid, form):
            yield each
