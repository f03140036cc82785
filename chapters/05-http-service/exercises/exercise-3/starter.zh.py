"""练习 3：同一批来了五条回复，客户端就要得到五条。

继承来的 `listen` 每收到一条回复就调用 `file_reply`。这个类为每个请求只留一条回复，
也就是最新的那条。
题目要求见旁边的 exercise-3.zh.md。
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.newest: dict[int, Reply] = {}

    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.unanswered.add(uid)
        self.event_map[uid] = asyncio.Event()
        return uid

    def file_reply(self, reply: Reply) -> None:
        self.newest[reply.uid] = reply
        if reply.finished:
            self.unanswered.discard(reply.uid)
        self.event_map[reply.uid].set()

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        while True:
            await self.event_map[uid].wait()
            self.event_map[uid].clear()
            ack = self.newest[uid]
            yield ack
            if ack.finished:
                return
