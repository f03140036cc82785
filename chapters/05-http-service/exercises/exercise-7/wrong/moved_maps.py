"""The two maps are empty, for their contents have moved to another one that is never emptied.

Fails: end-streaming: kept
"""

from __future__ import annotations

import asyncio
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.history: dict[int, asyncio.Event] = {}

    def forget(self, uid: int) -> None:
        if uid in self.event_map:
            self.history[uid] = self.event_map[uid]
        super().forget(uid)
