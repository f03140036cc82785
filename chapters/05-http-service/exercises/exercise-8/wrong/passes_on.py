"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from starlette.requests import Request

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import Completed


class MyFrontendManager(FrontendManager):
    async def collect(self, uid: int, request: Request) -> Completed:
        return await super().collect(uid, request)
