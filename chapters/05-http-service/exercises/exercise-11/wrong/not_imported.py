"""What it needs to send the abort is not there: the listener ends by it in silence.

Fails: stops-reading: raised
"""

from __future__ import annotations

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
            self.aborting = asyncio.create_task(self.send_one(AbortMsg(uid=uid)))  # noqa: F821
        self.event_map[uid].set()
