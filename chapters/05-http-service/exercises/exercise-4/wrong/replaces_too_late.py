"""The list is replaced after the yields: what came meanwhile is thrown away with it.

Fails: burst-meanwhile: lost
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
            for ack in list(self.ack_map[uid]):
                yield ack
                if ack.finished:
                    return
            self.ack_map[uid] = []
