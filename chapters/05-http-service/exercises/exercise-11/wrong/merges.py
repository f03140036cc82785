"""The unread become one reply: there are few of them, and they are as long as they are many.

Fails: stops-reading: runs-on
"""

from __future__ import annotations

from minisgl_tutor.server.backlog import merged
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        uid = reply.uid
        unread = self.ack_map[uid]
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(uid)
        elif len(unread) > self.backlog_limit:
            self.ack_map[uid] = merged(unread)
        self.event_map[uid].set()
