"""Cleans up when it is cancelled and when it ends, but neither when it is closed nor when something raises.

Fails: leave-delivering: abort-missing
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        async with aclosing(generator):
            try:
                async for chunk in generator:
                    yield chunk
            except asyncio.CancelledError:
                await self.end_user(uid)
                raise
        await self.end_user(uid)
