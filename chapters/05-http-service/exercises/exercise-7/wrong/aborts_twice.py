"""Each of the two that notice the end of a stream sends an abort.

Fails: leave-waiting: abort-extra
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        if uid in self.unanswered:
            await self.send_one(AbortMsg(uid=uid))
        await super().end_user(uid)
