"""Where replies are still unread, the request is taken for one that needs no abort.

Fails: one-leaves: abort-missing
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        self.event_map[reply.uid].set()
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def end_user(self, uid: int) -> None:
        left = uid in self.unanswered and not self.ack_map[uid]
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)
        self.unanswered.discard(uid)
        if left:
            await self.send_one(AbortMsg(uid=uid))
