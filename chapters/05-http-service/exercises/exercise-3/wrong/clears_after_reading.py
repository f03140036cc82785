"""The list is copied, read, and only then cleared: what came while it was read goes with it.

Fails: meanwhile: lost
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.unread: dict[int, list[Reply]] = {}

    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.unanswered.add(uid)
        self.event_map[uid] = asyncio.Event()
        self.unread[uid] = []
        return uid

    def file_reply(self, reply: Reply) -> None:
        self.unread[reply.uid].append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        self.event_map[reply.uid].set()

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            await self.event_map[uid].wait()
            self.event_map[uid].clear()
            for ack in list(self.unread[uid]):
                yield ack
                if ack.finished:
                    return
            self.unread[uid].clear()
