"""Every request is aborted when it ends, those that ended normally, too.

Fails: end-streaming: abort-extra
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        self.forget(uid)
        await self.send_one(AbortMsg(uid=uid))
