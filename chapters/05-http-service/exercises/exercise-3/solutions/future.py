"""The lists of all requests, and a future for whoever waits for more."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.waiters: dict[int, list[asyncio.Future[None]]] = {}

    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.unanswered.add(uid)
        self.ack_map[uid] = []
        return uid

    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        for waiter in self.waiters.pop(reply.uid, []):
            if not waiter.done():
                waiter.set_result(None)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            while not self.ack_map[uid]:
                waiter = asyncio.get_running_loop().create_future()
                self.waiters.setdefault(uid, []).append(waiter)
                await waiter
            ack = self.ack_map[uid].pop(0)
            yield ack
            if ack.finished:
                return
