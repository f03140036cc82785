"""It waits for the event for 50 ms at most, and looks in any case.

Fails: idle: wakes
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]

        while True:
            try:
                async with asyncio.timeout(0.05):
                    await event.wait()
            except TimeoutError:
                pass
            event.clear()
            pending, self.ack_map[uid] = self.ack_map[uid], []
            for ack in pending:
                yield ack
                if ack.finished:
                    return
