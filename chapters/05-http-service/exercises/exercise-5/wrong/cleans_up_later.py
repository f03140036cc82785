"""The entries go a tenth of a second later.

Fails: one-answer: kept
"""

from __future__ import annotations

import asyncio

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def expects(self, uid: int) -> bool:
        return uid in self.ack_map

    def drop(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)

    def file_reply(self, reply: Reply) -> None:
        self.ack_map[reply.uid].append(reply)
        self.event_map[reply.uid].set()
        if reply.finished:
            self.unanswered.discard(reply.uid)

    async def end_user(self, uid: int) -> None:
        asyncio.get_running_loop().call_later(0.1, self.drop, uid)
        if uid in self.unanswered:
            self.unanswered.discard(uid)
            await self.send_one(AbortMsg(uid=uid))
