"""The list and the event of a request that has ended are kept for the next one, which makes new ones.

Fails: next-request: grows
"""

from __future__ import annotations

import asyncio
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.spare: list[tuple[list[Reply], asyncio.Event | None]] = []

    def file_reply(self, reply: Reply) -> None:
        if self.expects(reply.uid):
            super().file_reply(reply)

    async def end_user(self, uid: int) -> None:
        if uid in self.ack_map:
            self.spare.append(([], self.event_map.get(uid)))
        await super().end_user(uid)
