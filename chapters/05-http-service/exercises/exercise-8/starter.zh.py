"""练习 8：客户端等着整个回答，却离开了。

路由调用 `collect`，把它返回的内容发出去。继承来的 `_join` 等一个请求的回复，把它们拼起来；
`end_user` 结束请求：该发中止就发，什么都不留下。在这里，没有谁发现客户端已经离开。
Starlette 的 `request` 有两种办法告诉你：客户端离开时，`await request.receive()` 返回一个字典，
它的 "type" 是 "http.disconnect"；`await request.is_disconnected()` 立即回答客户端是否已经离开。
发现之后，抛出 minisgl_tutor.server.openai.sse 里的 ClientDisconnected。
题目要求见旁边的 exercise-8.zh.md。
"""

from __future__ import annotations

from starlette.requests import Request

from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.answer import Completed


class MyFrontendManager(FrontendManager):
    async def collect(self, uid: int, request: Request) -> Completed:
        try:
            return await self._join(uid)
        finally:
            await self.end_user(uid)
