"""A finished reply takes the place of the rest: the client takes what it has for the whole answer.

Fails: stops-reading: looks-whole
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg, Usage, UserReply
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        uid = reply.uid
        unread = self.ack_map[uid]
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(uid)
        elif len(unread) > self.backlog_limit:
            unread[:] = [UserReply(uid, "", True, "length", Usage())]
            self.unanswered.discard(uid)
            self.send_tokenizers[uid % len(self.send_tokenizers)].put_nowait(AbortMsg(uid=uid))
        self.event_map[uid].set()
