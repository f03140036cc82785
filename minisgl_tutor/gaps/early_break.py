"""The consumer leaves at the finished reply, so what stands after the loop never runs (C5.120 to C5.124)."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from ..message import Reply
from ..server.frontend import FrontendManager


class EarlyBreak(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            pending = self.ack_map[uid]
            self.ack_map[uid] = []
            ack = None
            for ack in pending:
                yield ack  # a caller that leaves here, at the finished reply, never comes back
            if ack is not None and ack.finished:
                break
        del self.ack_map[uid]
        del self.event_map[uid]

    def expects(self, uid: int) -> bool:
        return uid in self.ack_map  # an entry that was left behind still takes in replies (C5.157)

    async def end_user(self, uid: int) -> None:
        """Nobody owns a normal end: only a request that was cut short is cleaned up."""
        if uid in self.unanswered:
            await self.abort_user(uid)
