"""The list is taken from its end.

Fails: burst-first: order
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
                ack = self.ack_map[uid].pop()
                yield ack
                if ack.finished:
                    return
