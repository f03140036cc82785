"""A memory stream of anyio for each request; it gives control up before each item."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from typing import Any

import anyio

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.streams: dict[int, Any] = {}

    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.unanswered.add(uid)
        self.streams[uid] = anyio.create_memory_object_stream(math.inf)
        return uid

    def file_reply(self, reply: Reply) -> None:
        send = self.streams[reply.uid][0]
        send.send_nowait(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
            send.close()

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        async with self.streams[uid][1] as replies:
            async for reply in replies:
                yield reply
