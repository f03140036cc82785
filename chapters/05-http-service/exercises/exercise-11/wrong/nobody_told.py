"""The client gets its error, and the engine computes on for nobody.

Fails: stops-reading: runs-on
"""

from __future__ import annotations

from minisgl_tutor.message import ErrorReply
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        uid = reply.uid
        unread = self.ack_map[uid]
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(uid)
        elif len(unread) > self.backlog_limit:
            unread[:] = [ErrorReply(uid, "the client does not read", status=503, code="slow_reader")]
            self.unanswered.discard(uid)
        self.event_map[uid].set()
