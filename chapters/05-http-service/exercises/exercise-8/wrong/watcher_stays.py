"""For each client that was served a task waits on, for what never comes.

Fails: neighbours: tasks-left
"""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import Completed
from minisgl_tutor.server.openai.sse import ClientDisconnected


class MyFrontendManager(FrontendManager):
    async def collect(self, uid: int, request: Request) -> Completed:
        work = asyncio.create_task(self._join(uid))
        watch = asyncio.create_task(_gone(request))
        another = asyncio.create_task(asyncio.Event().wait())
        try:
            await asyncio.wait({work, watch, another}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientDisconnected
            return work.result()
        finally:
            work.cancel()
            watch.cancel()
            await self.end_user(uid)


async def _gone(request: Request) -> None:
    """Returns when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
