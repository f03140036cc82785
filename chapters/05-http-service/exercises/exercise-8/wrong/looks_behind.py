"""It looks when the answer is there: until then the engine has computed it.

Fails: leaves-midway: noticed-late
"""

from __future__ import annotations

from starlette.requests import Request

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import Completed
from minisgl_tutor.server.openai.sse import ClientDisconnected


class MyFrontendManager(FrontendManager):
    async def collect(self, uid: int, request: Request) -> Completed:
        try:
            done = await self._join(uid)
            if await request.is_disconnected():
                raise ClientDisconnected
            return done
        finally:
            await self.end_user(uid)
