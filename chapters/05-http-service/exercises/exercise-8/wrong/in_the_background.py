"""The abort is a task that waits a moment first: what is kept is kept for that long.

Fails: leaves-midway: kept
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
        await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
        watch.cancel()
        if not work.done():
            work.cancel()
            asyncio.create_task(self._end_later(uid))  # noqa: RUF006
            raise ClientDisconnected
        await self.end_user(uid)
        return work.result()

    async def _end_later(self, uid: int) -> None:
        await asyncio.sleep(0.1)
        await self.end_user(uid)


async def _gone(request: Request) -> None:
    """Returns when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
