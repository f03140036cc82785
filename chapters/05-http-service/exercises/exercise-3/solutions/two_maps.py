"""A list for each request keeps its replies, an event wakes its consumer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.unanswered.add(uid)
        self.ack_map[uid] = []
        self.event_map[uid] = asyncio.Event()
        return uid

    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        self.event_map[reply.uid].set()

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            pending, self.ack_map[uid] = self.ack_map[uid], []
            for ack in pending:
                yield ack
                if ack.finished:
                    return
