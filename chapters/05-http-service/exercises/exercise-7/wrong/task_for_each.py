"""Each request starts a task that waits for its last reply, also when that never comes.

Fails: neighbours: tasks-left
"""

from __future__ import annotations

import asyncio

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    def new_user(self) -> int:
        uid = super().new_user()
        task = asyncio.create_task(self.guard(asyncio.Event()))
        task.set_name(f"guard of {uid}")
        return uid

    async def guard(self, ended: asyncio.Event) -> None:
        await ended.wait()
