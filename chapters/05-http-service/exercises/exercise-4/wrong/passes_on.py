"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        async for each in super().wait_for_ack(uid):
            yield each
