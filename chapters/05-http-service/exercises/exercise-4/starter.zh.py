"""练习 4：不论回复怎样到来，每一条都从 `wait_for_ack` 里按顺序出来一次。

`listen` 把每条回复追加到 `ack_map[uid]`，再设置 `event_map[uid]`。这个消费者每次醒来只取一条。
题目要求见旁边的 exercise-4.zh.md。
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            ack = self.ack_map[uid].pop(0)
            yield ack
            if ack.finished:
                return
