"""The event is set before the reply is there; who wakes up too early takes the empty list for the end.

Fails: one-reply: lost
"""

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
        self.event_map[reply.uid].set()
        asyncio.get_running_loop().call_later(0.001, self.ack_map[reply.uid].append, reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            pending, self.ack_map[uid] = self.ack_map[uid], []
            if not pending:
                return
            for ack in pending:
                yield ack
                if ack.finished:
                    return
