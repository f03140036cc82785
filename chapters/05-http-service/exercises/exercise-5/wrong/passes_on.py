"""Only calls what the server's own class has.

Fails: loads: not-loaded
"""

from __future__ import annotations

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def file_reply(self, reply: Reply) -> None:
        super().file_reply(reply)

    async def end_user(self, uid: int) -> None:
        await super().end_user(uid)
