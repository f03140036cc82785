"""A reply for an unknown uid makes its entries anew.

Fails: one-leaves: comes-back
"""

from __future__ import annotations

import asyncio

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def expects(self, uid: int) -> bool:
        return True

    def file_reply(self, reply: Reply) -> None:
        self.ack_map.setdefault(reply.uid, []).append(reply)
        self.event_map.setdefault(reply.uid, asyncio.Event()).set()
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def end_user(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)
        if uid in self.unanswered:
            self.unanswered.discard(uid)
            await self.send_one(AbortMsg(uid=uid))
