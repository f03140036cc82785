"""The cleaning up is right, and replies still go to the newest.

Fails: by-turns: wrong-answer
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def expects(self, uid: int) -> bool:
        return uid in self.ack_map

    def file_reply(self, reply: Reply) -> None:
        newest = max(self.ack_map)
        self.ack_map[newest].append(reply)
        self.event_map[newest].set()
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def end_user(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)
        if uid in self.unanswered:
            self.unanswered.discard(uid)
            await self.send_one(AbortMsg(uid=uid))
