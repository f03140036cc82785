"""Two replies each time it wakes up: enough for the first example.

Fails: burst-first: lost
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
            for _ in range(2):
                if self.ack_map[uid]:
                    ack = self.ack_map[uid].pop(0)
                    yield ack
                    if ack.finished:
                        return
