"""A chain of futures: each holds a reply and the future of the next one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager, Reply


class Link:
    def __init__(self) -> None:
        self.come: asyncio.Future[tuple[Reply, Link]] = asyncio.get_running_loop().create_future()


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.heads: dict[int, Link] = {}
        self.tails: dict[int, Link] = {}

    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.unanswered.add(uid)
        self.heads[uid] = self.tails[uid] = Link()
        return uid

    def file_reply(self, reply: Reply) -> None:
        link, self.tails[reply.uid] = self.tails[reply.uid], Link()
        if reply.finished:
            self.unanswered.discard(reply.uid)
        link.come.set_result((reply, self.tails[reply.uid]))

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        link = self.heads[uid]
        while True:
            reply, link = await link.come
            yield reply
            if reply.finished:
                return
