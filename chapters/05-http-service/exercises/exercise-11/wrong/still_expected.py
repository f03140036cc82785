"""Who does not read is cut off, and its replies are still expected: when enough have come again, there is
a second abort.

Fails: late-replies: aborts
"""

from __future__ import annotations

import asyncio
from typing import Any

from minisgl_tutor.message import AbortMsg, ErrorReply, UserReply
from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.aborts: set[asyncio.Task[None]] = set()

    def expects(self, uid: int) -> bool:
        return uid in self.ack_map

    def file_reply(self, reply: UserReply | ErrorReply) -> None:
        uid = reply.uid
        unread = self.ack_map[uid]
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(uid)
        elif len(unread) > self.backlog_limit:
            text = f"more than {self.backlog_limit} pieces of the answer waited to be read"
            unread[:] = [ErrorReply(uid=uid, message=text, status=500, code="too_slow")]
            task = asyncio.create_task(self.send_one(AbortMsg(uid=uid)))
            self.aborts.add(task)
            task.add_done_callback(self.aborts.discard)
        self.event_map[uid].set()
