"""It looks at the list again and again.

Fails: burst-first: wakes
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            while not self.ack_map[uid]:
                await asyncio.sleep(0)
            ack = self.ack_map[uid].pop(0)
            yield ack
            if ack.finished:
                return
