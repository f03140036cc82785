"""A list that is looked at every 10 ms: never late by much, and never at rest.

Fails: idle: wakes
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
        self.ack_map[reply.uid].append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            while not self.ack_map[uid]:
                await asyncio.sleep(0.01)
            ack = self.ack_map[uid].pop(0)
            yield ack
            if ack.finished:
                return
