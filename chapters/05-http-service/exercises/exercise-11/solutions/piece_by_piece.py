"""The list is what waits: its consumer takes one reply at a time, and an error when no more will come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from minisgl_tutor.message import AbortMsg, ErrorReply
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        unread = self.ack_map[reply.uid]
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(reply.uid)
        self.event_map[reply.uid].set()
        if len(unread) > self.backlog_limit and reply.uid in self.unanswered:
            self.unanswered.discard(reply.uid)
            asyncio.get_running_loop().create_task(self.send_one(AbortMsg(uid=reply.uid)))

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        """One by one; it ends with an error when nothing more will come."""
        unread, event = self.ack_map[uid], self.event_map[uid]
        while True:
            while not unread:
                if uid not in self.unanswered:
                    yield ErrorReply(uid, "you were too slow", 429, "slow")
                    return
                event.clear()
                await event.wait()
            reply = unread.pop(0)
            yield reply
            if reply.finished:
                return
