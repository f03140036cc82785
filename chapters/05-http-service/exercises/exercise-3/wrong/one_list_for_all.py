"""One list for all requests: whoever wakes up takes what is not its own.

Fails: two-requests: lost
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
        self.ack_map.setdefault(-1, []).append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        for event in self.event_map.values():
            event.set()

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            pending, self.ack_map[-1] = self.ack_map.get(-1, []), []
            for ack in pending:
                if ack.uid == uid:
                    yield ack
                    if ack.finished:
                        return
