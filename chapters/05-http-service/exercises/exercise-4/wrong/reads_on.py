"""The finished reply does not end it.

Fails: finished-amid: after-the-end
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        ended = False
        while not ended:
            await event.wait()
            event.clear()
            pending, self.ack_map[uid] = self.ack_map[uid], []
            for ack in pending:
                ended = ended or ack.finished
                yield ack
