"""A reply without text is taken for none, unless it is the finished one.

Fails: alike: lost
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.unread: dict[int, asyncio.Queue[Reply]] = {}

    def new_user(self) -> int:
        uid = super().new_user()
        self.unread[uid] = asyncio.Queue()
        return uid

    def file_reply(self, reply: Reply) -> None:
        if reply.finished:
            self.unanswered.discard(reply.uid)
        if reply.incremental_output or reply.finished:
            self.unread[reply.uid].put_nowait(reply)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            ack = await self.unread[uid].get()
            yield ack
            if ack.finished:
                return
