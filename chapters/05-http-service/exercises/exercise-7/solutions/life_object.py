"""One object for each request's life, in one map. The server's two maps stay empty."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request

from minisgl_tutor.message import AbortMsg, SamplingParams, TokenizeMsg
from minisgl_tutor.server.frontend import FrontendManager, Reply
from minisgl_tutor.server.openai.answer import Completed


class Life:
    """Entered when its answer is wanted, left when that is over, however it is."""

    def __init__(self, manager: MyFrontendManager, uid: int) -> None:
        self.manager = manager
        self.uid = uid
        self.replies: deque[Reply] = deque()
        self.news = asyncio.Event()
        self.answered = False

    def file(self, reply: Reply) -> None:
        if not self.answered:
            self.replies.append(reply)
            self.answered = reply.finished
            self.news.set()

    async def __aenter__(self) -> Life:
        return self

    async def __aexit__(self, *exception: object) -> None:
        if self.manager.lives.pop(self.uid, None) and not self.answered:
            await self.manager.send_one(AbortMsg(uid=self.uid))


class MyFrontendManager(FrontendManager):
    def __init__(self, *args, **kwargs) -> None:  # type: ignore[no-untyped-def]
        super().__init__(*args, **kwargs)
        self.lives: dict[int, Life] = {}

    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.lives[uid] = Life(self, uid)
        return uid

    async def submit(self, text: str | list[dict[str, str]], sampling_params: SamplingParams) -> int:
        uid = self.new_user()
        try:
            await self.send_one(TokenizeMsg(uid=uid, text=text, sampling_params=sampling_params))
        except BaseException:
            del self.lives[uid]
            raise
        return uid

    def expects(self, uid: int) -> bool:
        return uid in self.lives

    def file_reply(self, reply: Reply) -> None:
        self.lives[reply.uid].file(reply)

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        life = self.lives[uid]
        while True:
            while life.replies:
                reply = life.replies.popleft()
                yield reply
                if reply.finished:
                    return
            life.news.clear()
            await life.news.wait()

    async def collect(self, uid: int, request: Request) -> Completed:
        async with self.lives[uid]:
            return await self.unless_disconnected(request, self._join(uid))

    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        async with self.lives[uid], aclosing(generator):
            async for chunk in generator:
                yield chunk

    async def abort_user(self, uid: int) -> None:
        if uid in self.lives and not self.lives[uid].answered:
            await self.lives[uid].__aexit__()

    def held(self) -> dict[int, dict[str, int]]:
        return {uid: {"life": len(life.replies) + 1} for uid, life in self.lives.items()}
