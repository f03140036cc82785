"""Whoever has not taken the reply before is taken for slow.

Fails: a-little-behind: cut
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
        elif len(unread) > 1:
            unread[:] = [ErrorReply(uid, "the client does not read", status=503, code="slow_reader")]
            self.unanswered.discard(uid)
            self.send_tokenizers[uid % len(self.send_tokenizers)].put_nowait(AbortMsg(uid=uid))
        self.event_map[uid].set()
