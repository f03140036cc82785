"""Whoever waits for longer than thirty seconds is taken for one that has left.

Fails: stays: wrong-answer
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
        left = asyncio.create_task(self._until_left(request))
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED, timeout=30)
            if work.done():
                return work.result()
            raise ClientDisconnected
        finally:
            work.cancel()
            left.cancel()
            await asyncio.gather(work, left, return_exceptions=True)
            await self.end_user(uid)

    async def _until_left(self, request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
