"""A queue for each request. Whether its finished reply has come is known by the queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class Inbox(asyncio.Queue[Reply]):
    complete = False


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.inboxes: dict[int, Inbox] = {}

    def new_user(self) -> int:
        self.uid_counter += 1
        self.inboxes[self.uid_counter] = Inbox()
        return self.uid_counter

    def expects(self, uid: int) -> bool:
        return uid in self.inboxes

    def file_reply(self, reply: Reply) -> None:
        inbox = self.inboxes[reply.uid]
        inbox.complete |= reply.finished
        inbox.put_nowait(reply)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        finished = False
        while not finished:
            reply = await self.inboxes[uid].get()
            finished = reply.finished
            yield reply

    async def end_user(self, uid: int) -> None:
        inbox = self.inboxes.pop(uid, None)
        if inbox is not None and not inbox.complete:
            await self.send_one(AbortMsg(uid=uid))

    def forget(self, uid: int) -> None:
        self.inboxes.pop(uid, None)
