"""The watcher cancels the joining; what was cancelled so has lost its client."""

from __future__ import annotations

import asyncio

from starlette.requests import Request

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import Completed
from minisgl_tutor.server.openai.sse import ClientDisconnected


class MyFrontendManager(FrontendManager):
    async def collect(self, uid: int, request: Request) -> Completed:
        async def watch() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            left.set()
            joining.cancel()

        left = asyncio.Event()
        joining = asyncio.ensure_future(self._join(uid))
        watcher = asyncio.ensure_future(watch())
        try:
            async with self.own(uid):
                return await joining
        except asyncio.CancelledError:
            if left.is_set():
                raise ClientDisconnected from None
            raise
        finally:
            joining.cancel()
            watcher.cancel()
            await asyncio.gather(joining, watcher, return_exceptions=True)
