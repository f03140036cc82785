"""Exercise 4: however replies come, each comes out of `wait_for_ack` once and in order.

`listen` appends each reply to `ack_map[uid]` and sets `event_map[uid]`. This consumer
takes one reply each time it wakes up. What to do is in exercise-4.md beside this file.
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
