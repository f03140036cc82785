"""An answer that was complete is aborted, too.

Fails: one-answer: abort-extra
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def expects(self, uid: int) -> bool:
        return uid in self.ack_map

    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        self.event_map[reply.uid].set()
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def end_user(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)
        self.unanswered.discard(uid)
        await self.send_one(AbortMsg(uid=uid))
