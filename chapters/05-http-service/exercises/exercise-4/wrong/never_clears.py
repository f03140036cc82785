"""The event stays set: the wait comes back at once, for ever, and nobody else runs.

Fails: burst-first: stuck
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            pending, self.ack_map[uid] = self.ack_map[uid], []
            for ack in pending:
                yield ack
                if ack.finished:
                    return
