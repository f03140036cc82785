"""What is kept is let go of once the abort has been sent: if sending it fails, never.

Fails: send-fails: kept
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        if uid in self.unanswered:
            await self.abort_user(uid)
        self.forget(uid)

    async def abort_user(self, uid: int) -> None:
        if uid in self.unanswered:
            await self.send_one(AbortMsg(uid=uid))
            self.forget(uid)
