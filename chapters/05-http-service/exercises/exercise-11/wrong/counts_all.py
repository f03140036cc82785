"""It counts all replies of a request, not those that wait: a long answer is cut for a client that reads.

Fails: reads-at-once: cut
"""

from __future__ import annotations

from functools import cached_property

from minisgl_tutor.message import AbortMsg, ErrorReply
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        uid = reply.uid
        unread = self.ack_map[uid]
        self.counts[uid] = self.counts.get(uid, 0) + 1
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(uid)
        elif self.counts[uid] > self.backlog_limit:
            unread[:] = [ErrorReply(uid, "the client does not read", status=503, code="slow_reader")]
            self.unanswered.discard(uid)
            self.send_tokenizers[uid % len(self.send_tokenizers)].put_nowait(AbortMsg(uid=uid))
        self.event_map[uid].set()

    @cached_property
    def counts(self) -> dict[int, int]:
        return {}

    def forget(self, uid: int) -> None:
        super().forget(uid)
        self.counts.pop(uid, None)
