"""A queue for each request, which is full when enough waits. What does not fit ends the request."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from functools import cached_property

from minisgl_tutor.message import AbortMsg, ErrorReply
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    @cached_property
    def queues(self) -> dict[int, asyncio.Queue[Reply]]:
        return {}

    def new_user(self) -> int:
        uid = super().new_user()
        self.queues[uid] = asyncio.Queue(self.backlog_limit)
        return uid

    def file_reply(self, reply: Reply) -> None:
        uid = reply.uid
        queue = self.queues[uid]
        if reply.finished:
            self.unanswered.discard(uid)
        try:
            queue.put_nowait(reply)
        except asyncio.QueueFull:
            while not queue.empty():
                queue.get_nowait()
            queue.put_nowait(ErrorReply(uid, "the client does not read", status=503, code="slow_reader"))
            if uid in self.unanswered:
                self.unanswered.discard(uid)
                self.send_tokenizers[uid % len(self.send_tokenizers)].put_nowait(AbortMsg(uid=uid))

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        queue = self.queues[uid]
        finished = False
        while not finished:
            reply = await queue.get()
            finished = reply.finished
            yield reply

    def forget(self, uid: int) -> None:
        super().forget(uid)
        self.queues.pop(uid, None)
