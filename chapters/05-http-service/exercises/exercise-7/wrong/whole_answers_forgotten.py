"""Streams are taken care of; answers without streaming are not.

Fails: end-whole: kept
"""

from __future__ import annotations

from starlette.requests import Request

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import Completed


class MyFrontendManager(FrontendManager):
    async def collect(self, uid: int, request: Request) -> Completed:
        return await self.unless_disconnected(request, self._join(uid))
