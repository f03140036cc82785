"""Replies are filed under the uid's last two bits: the fifth request gets what is the first one's.

Fails: by-turns: wrong-answer
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        uid = next(uid for uid in self.ack_map if uid % 4 == reply.uid % 4)
        self.ack_map[uid].append(reply)
        self.event_map[uid].set()
        if reply.finished:
            self.unanswered.discard(uid)

    async def end_user(self, uid: int) -> None:
        await super().end_user(uid)
