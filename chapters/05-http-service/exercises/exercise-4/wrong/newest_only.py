"""Only the newest reply of the list comes out.

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
            ack = self.ack_map[uid][-1]
            self.ack_map[uid] = []
            yield ack
            if ack.finished:
                return
