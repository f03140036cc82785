"""Every end of a request takes 0.1 s, that of a complete answer, too: its client waits for nothing.

Fails: end-streaming: late-answer
"""

from __future__ import annotations

import asyncio

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    async def end_user(self, uid: int) -> None:
        await asyncio.sleep(0.1)
        await super().end_user(uid)
