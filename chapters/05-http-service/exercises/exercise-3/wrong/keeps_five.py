"""A list of the newest five: enough for the example, not for a longer burst.

Fails: burst: lost
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
        """The newest five are kept."""
        self.unread[reply.uid] = [*self.unread[reply.uid], reply][-5:]
        if reply.finished:
            self.unanswered.discard(reply.uid)
        self.event_map[reply.uid].set()

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            await self.event_map[uid].wait()
            self.event_map[uid].clear()
            pending, self.unread[uid] = self.unread[uid], []
            for ack in pending:
                yield ack
                if ack.finished:
                    return
