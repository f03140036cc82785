"""The abort is awaited where the stream ends, and still waits 0.1 s before it does anything.

Fails: leave-waiting: noticed-late
"""

from __future__ import annotations

import asyncio

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def abort_user(self, uid: int) -> None:
        await asyncio.sleep(0.1)
        await super().abort_user(uid)
