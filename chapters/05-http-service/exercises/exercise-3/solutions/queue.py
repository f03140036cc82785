"""A queue for each request does both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.queues: dict[int, asyncio.Queue[Reply]] = {}

    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.unanswered.add(uid)
        self.queues[uid] = asyncio.Queue()
        return uid

    def file_reply(self, reply: Reply) -> None:
        self.queues[reply.uid].put_nowait(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            ack = await self.queues[uid].get()
            yield ack
            if ack.finished:
                return
