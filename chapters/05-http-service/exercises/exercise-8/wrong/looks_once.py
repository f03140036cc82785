"""It looks before it waits, when nobody has had time to leave.

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
            if await request.is_disconnected():
                raise ClientDisconnected
            return await self._join(uid)
        finally:
            await self.end_user(uid)
