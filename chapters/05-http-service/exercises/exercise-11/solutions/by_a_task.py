"""A task sends the abort, as a link could be full; the front end keeps hold of it until it is done."""

from __future__ import annotations

import asyncio
from functools import cached_property

from minisgl_tutor.message import AbortMsg, ErrorReply
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        uid = reply.uid
        unread = self.ack_map[uid]
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(uid)
        elif len(unread) > self.backlog_limit:
            self.ack_map[uid] = [ErrorReply(uid, "the client does not read", status=503, code="slow_reader")]
            self.unanswered.discard(uid)
            task = asyncio.create_task(self.send_one(AbortMsg(uid=uid)))
            self.aborting.add(task)
            task.add_done_callback(self.aborting.discard)
        self.event_map[uid].set()

    @cached_property
    def aborting(self) -> set[asyncio.Task[None]]:
        return set()
