"""Where replies are still unread, the request is taken for one that needs no abort.

Fails: leave-delivering: abort-missing
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        if self.ack_map.get(uid):
            self.unanswered.discard(uid)
        await super().end_user(uid)
