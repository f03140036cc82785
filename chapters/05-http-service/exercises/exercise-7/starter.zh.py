"""练习 7：不论请求怎样结束，都不留下任何东西。

这个类每个回答都能给出，但有好几处忘了清理。服务器的路由先调用 `submit`，再调用 `collect`；
流式请求则用 `stream_with_cancellation` 包住 `stream_chat_completions`。这里的代码可以随意改，
只继承、没写在这里的方法也可以重写，再用 `minisgl-tutor check exercise-7` 评判。怎样才算正确，
见旁边的 exercise-7.zh.md。

父类在 minisgl_tutor/server/frontend.py 里，它本身就是一份正确答案；先自己试一试，再去读，
收获更大。客户端没等到完整的回答就离开，Starlette 的 `request` 有两种办法发现：
`receive()` 会等来 "http.disconnect"，`is_disconnected()` 则立即回答它是否已经离开。发现之后，
抛出 minisgl_tutor.server.openai.sse 里的 ClientDisconnected。
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

from starlette.requests import Request

from minisgl_tutor.message import AbortMsg, ErrorReply, SamplingParams, TokenizeMsg, Usage
from minisgl_tutor.server.frontend import FrontendManager, Reply
from minisgl_tutor.server.openai.answer import Completed, ResponseForm
from minisgl_tutor.server.openai.failure import RequestFailed, error_body
from minisgl_tutor.server.openai.sse import DONE, event

logger = logging.getLogger(__name__)


class MyFrontendManager(FrontendManager):
    # -- 请求进来

    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.ack_map[uid] = []
        self.event_map[uid] = asyncio.Event()
        return uid

    async def submit(self, text: str | list[dict[str, str]], sampling_params: SamplingParams) -> int:
        uid = self.new_user()
        await self.send_one(TokenizeMsg(uid=uid, text=text, sampling_params=sampling_params))
        return uid

    # -- 回复回来（继承来的 `listen` 只收还有人等的回复）

    def expects(self, uid: int) -> bool:
        return uid in self.ack_map

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            pending = self.ack_map[uid]
            self.ack_map[uid] = []
            ack = None
            for ack in pending:
                yield ack
            if ack is not None and ack.finished:
                break
        del self.ack_map[uid]
        del self.event_map[uid]

    # -- 回答出去：整段，或者流式

    async def collect(self, uid: int, request: Request) -> Completed:
        pieces: list[str] = []
        async for ack in self.wait_for_ack(uid):
            if isinstance(ack, ErrorReply):
                raise RequestFailed(ack)
            pieces.append(ack.incremental_output)
            if ack.finished:
                break
        return Completed("".join(pieces), ack.finish_reason, ack.usage or Usage())

    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        first = True
        async for ack in self.wait_for_ack(uid):
            if isinstance(ack, ErrorReply):
                if first:
                    raise RequestFailed(ack)
                yield event(error_body(ack))
                return
            yield event(form.chunk(ack.incremental_output, first))
            first = False
            if ack.finished:
                break
        for body in form.ending(ack):
            yield event(body)
        yield DONE

    # -- 客户端离开

    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in generator:
                if await request.is_disconnected():
                    logger.info("the client of request %s has left", uid)
                    raise asyncio.CancelledError
                yield chunk
        except asyncio.CancelledError:
            asyncio.create_task(self.abort_user(uid))  # noqa: RUF006
            raise

    async def abort_user(self, uid: int) -> None:
        await asyncio.sleep(0.1)
        if uid in self.ack_map:
            del self.ack_map[uid]
        if uid in self.event_map:
            del self.event_map[uid]
        logger.warning("aborting request %s", uid)
        await self.send_one(AbortMsg(uid=uid))
