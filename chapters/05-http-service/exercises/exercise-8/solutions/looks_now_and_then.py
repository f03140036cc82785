"""Ten times a second it asks whether the client is still there."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import Completed
from minisgl_tutor.server.openai.sse import ClientDisconnected


class MyFrontendManager(FrontendManager):
    async def collect(self, uid: int, request: Request) -> Completed:
        work = asyncio.create_task(self._join(uid))
        try:
            while not work.done():
                if await request.is_disconnected():
                    raise ClientDisconnected
                await asyncio.wait({work}, timeout=0.1)
            return work.result()
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
            await self.end_user(uid)
