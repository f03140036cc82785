"""The event stays set as long as there is something to take: a wait for it then comes back at once."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]

        while True:
            await event.wait()
            ack = self.ack_map[uid].pop(0)
            if not self.ack_map[uid]:
                event.clear()
            yield ack
            if ack.finished:
                return
