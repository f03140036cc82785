"""The state goes, but the backend is never told: it computes for a client that is gone.

Fails: leave-waiting: abort-missing
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        self.forget(uid)
