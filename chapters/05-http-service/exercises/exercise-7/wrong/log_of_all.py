"""A sentence is kept for each request that was: it has no uid in it, and the list never ends.

Fails: many: grows
"""

from __future__ import annotations

from typing import Any

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.log: list[str] = []

    async def end_user(self, uid: int) -> None:
        how = "left" if uid in self.unanswered else "was answered"
        await super().end_user(uid)
        self.log.append(f"client {uid} {how}")
