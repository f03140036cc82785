"""An abort still waits 0.1 s in a background task, and the entries wait with it.

Fails: leave-waiting: kept
"""

from __future__ import annotations

import asyncio

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        if uid in self.unanswered:
            self.later = asyncio.create_task(self.abort_user(uid))
        else:
            self.forget(uid)

    async def abort_user(self, uid: int) -> None:
        await asyncio.sleep(0.1)
        await super().abort_user(uid)
