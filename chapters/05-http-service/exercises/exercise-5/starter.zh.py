"""练习 5：各收各的回复，什么也不留下。

每来一条回复，继承来的 `listen` 先问 `expects`，再把它交给 `file_reply`。负责送出回答的一方，
在回答不论怎样结束时都调用 `end_user`。这个类把每条回复都归到最后建的 uid 名下，也不做任何清理。
题目要求见旁边的 exercise-5.zh.md。
"""

from __future__ import annotations

from minisgl_tutor.message import AbortMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply


class MyFrontendManager(FrontendManager):
    newest = -1

    def new_user(self) -> int:
        self.newest = super().new_user()
        return self.newest

    def expects(self, uid: int) -> bool:
        return True

    def file_reply(self, reply: Reply) -> None:
        self.ack_map[self.newest].append(reply)
        self.event_map[self.newest].set()

    async def end_user(self, uid: int) -> None:
        """请求的回答完整了，或者客户端离开了，或者请求失败了。"""
        await self.send_one(AbortMsg(uid=uid))
