"""A reply for somebody who is gone kills the listener, and nobody is answered any more.

Fails: one-leaves: raised
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def expects(self, uid: int) -> bool:
        return True

    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        self.event_map[reply.uid].set()
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def end_user(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)
        if uid in self.unanswered:
            self.unanswered.discard(uid)
            await self.send_one(AbortMsg(uid=uid))
