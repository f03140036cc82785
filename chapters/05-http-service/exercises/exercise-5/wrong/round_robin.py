"""Replies are dealt out in turn to the requests that live.

Fails: by-turns: wrong-answer
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    dealt = 0

    def expects(self, uid: int) -> bool:
        return uid in self.ack_map

    def file_reply(self, reply: Reply) -> None:
        uid = list(self.ack_map)[self.dealt % len(self.ack_map)]
        self.dealt += 1
        self.ack_map[uid].append(reply)
        self.event_map[uid].set()
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def end_user(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)
        if uid in self.unanswered:
            self.unanswered.discard(uid)
            await self.send_one(AbortMsg(uid=uid))
