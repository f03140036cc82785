"""It ends when the finished reply has been filed, not when it has been taken.

Fails: finished-amid: lost
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]

        while True:
            await event.wait()
            event.clear()
            while self.ack_map[uid]:
                ack = self.ack_map[uid].pop(0)
                yield ack
                if uid not in self.unanswered:
                    return
