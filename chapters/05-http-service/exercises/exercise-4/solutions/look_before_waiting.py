"""It waits only when the list is empty."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            while not self.ack_map[uid]:
                self.event_map[uid].clear()
                await self.event_map[uid].wait()
            ack = self.ack_map[uid].pop(0)
            yield ack
            if ack.finished:
                return
