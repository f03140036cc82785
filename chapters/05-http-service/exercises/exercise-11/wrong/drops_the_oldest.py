"""The list stays short, and the answer has a hole.

Fails: stops-reading: runs-on
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        uid = reply.uid
        unread = self.ack_map[uid]
        unread.append(reply)
        if reply.finished:
            self.unanswered.discard(uid)
        elif len(unread) > self.backlog_limit:
            del unread[0]
        self.event_map[uid].set()
