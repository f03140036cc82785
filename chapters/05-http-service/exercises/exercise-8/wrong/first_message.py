"""The first message that comes is taken for the end of the connection, and it is the body of the request.

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
        watch = asyncio.create_task(request.body())
        try:
            await asyncio.wait({work, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                raise ClientDisconnected
            return work.result()
        finally:
            work.cancel()
            watch.cancel()
            await asyncio.gather(work, watch, return_exceptions=True)
            await self.end_user(uid)
