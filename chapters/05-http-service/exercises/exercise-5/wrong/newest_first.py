"""Each request gets its own, the newest of its unread replies first.

Fails: by-turns: wrong-answer
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].insert(0, reply)
        self.event_map[reply.uid].set()
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def end_user(self, uid: int) -> None:
        await super().end_user(uid)
