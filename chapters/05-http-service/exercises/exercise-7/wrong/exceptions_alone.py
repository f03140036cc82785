"""`except Exception` does not see that the stream is cancelled.

Fails: leave-waiting: abort-missing
"""

from __future__ import annotations

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
            except Exception:
                await self.end_user(uid)
                raise
        await self.end_user(uid)
