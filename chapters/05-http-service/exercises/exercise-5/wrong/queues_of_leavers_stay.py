"""Queues stand in the place of the two maps, and that of a client that has left stays.

Fails: one-leaves: kept
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.inboxes: dict[int, asyncio.Queue[Reply]] = {}

    def new_user(self) -> int:
        self.uid_counter += 1
        self.inboxes[self.uid_counter] = asyncio.Queue()
        self.unanswered.add(self.uid_counter)
        return self.uid_counter

    def expects(self, uid: int) -> bool:
        return uid in self.unanswered

    def file_reply(self, reply: Reply) -> None:
        self.inboxes[reply.uid].put_nowait(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        finished = False
        while not finished:
            reply = await self.inboxes[uid].get()
            finished = reply.finished
            yield reply

    async def end_user(self, uid: int) -> None:
        if uid not in self.unanswered:
            self.inboxes.pop(uid, None)
            return
        self.unanswered.discard(uid)
        await self.send_one(AbortMsg(uid=uid))
