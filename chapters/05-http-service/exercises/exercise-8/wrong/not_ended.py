"""The client is noticed, and its request is left to itself: no abort, and its state stays.

Fails: leaves-midway: abort-missing
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
            raise ClientDisconnected
        await self.end_user(uid)
        return work.result()


async def _gone(request: Request) -> None:
    """Returns when the client has left."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
