"""Whoever waits for more than half a second is taken for one that has left.

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
        try:
            async with asyncio.timeout(0.5):
                return await self._join(uid)
        except TimeoutError:
            raise ClientDisconnected from None
        finally:
            await self.end_user(uid)
