"""Cleans up after clients that leave and answers that end, but not when an answer cannot be encoded.

Fails: encoder-fails: kept
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
            except (asyncio.CancelledError, GeneratorExit, RuntimeError):
                await self.end_user(uid)
                raise
            except Exception as error:
                if hasattr(error, "reply"):
                    await self.end_user(uid)
                raise
        await self.end_user(uid)
