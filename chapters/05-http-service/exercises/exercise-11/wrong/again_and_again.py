"""The request still counts as expected, so that every further reply ends it again.

Fails: two-slow: aborts
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
        elif len(unread) > self.backlog_limit or isinstance(unread[0], ErrorReply):
            unread[:] = [ErrorReply(uid, "the client does not read", status=503, code="slow_reader")]
            self.send_tokenizers[uid % len(self.send_tokenizers)].put_nowait(AbortMsg(uid=uid))
        self.event_map[uid].set()
