"""The list is emptied from the front; what comes meanwhile is taken in the same go, or sets the event."""

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
                if ack.finished:
                    return
