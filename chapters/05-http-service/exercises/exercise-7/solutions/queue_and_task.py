"""A queue for each request and a task that fills it; whatever ends the task, its end takes all away."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from starlette.requests import Request

from minisgl_tutor.message import AbortMsg, ErrorReply, SamplingParams, TokenizeMsg, Usage
from minisgl_tutor.server.frontend import FrontendManager, Reply
from minisgl_tutor.server.openai.answer import Completed, ResponseForm
from minisgl_tutor.server.openai.failure import RequestFailed, error_body
from minisgl_tutor.server.openai.sse import DONE, ClientDisconnected, event


class MyFrontendManager(FrontendManager):
    def __init__(self, *args, **kwargs) -> None:  # type: ignore[no-untyped-def]
        super().__init__(*args, **kwargs)
        self.work: dict[int, asyncio.Task[None]] = {}
        self.background: set[asyncio.Task[None]] = set()

    async def submit(self, text: str | list[dict[str, str]], sampling_params: SamplingParams) -> int:
        uid = self.new_user()
        try:
            await self.send_one(TokenizeMsg(uid=uid, text=text, sampling_params=sampling_params))
        except BaseException:
            self.forget(uid)
            raise
        return uid

    def begin(self, uid: int) -> asyncio.Queue[Reply]:
        queue: asyncio.Queue[Reply] = asyncio.Queue()
        task = asyncio.create_task(self.relay(uid, queue), name=f"relay {uid}")
        task.add_done_callback(lambda done: self.end(uid))
        self.work[uid] = task
        return queue

    async def relay(self, uid: int, queue: asyncio.Queue[Reply]) -> None:
        while True:
            await self.event_map[uid].wait()
            self.event_map[uid].clear()
            replies, self.ack_map[uid] = self.ack_map[uid], []
            for reply in replies:
                queue.put_nowait(reply)
                if reply.finished:
                    return

    def end(self, uid: int) -> None:
        unfinished = uid in self.unanswered
        self.work.pop(uid, None)
        self.forget(uid)
        if unfinished:
            task = asyncio.create_task(self.send_one(AbortMsg(uid=uid)), name=f"abort {uid}")
            self.background.add(task)
            task.add_done_callback(self.background.discard)

    async def collect(self, uid: int, request: Request) -> Completed:
        queue = self.begin(uid)
        pieces: list[str] = []
        try:
            while True:
                try:
                    reply = await asyncio.wait_for(queue.get(), 0.05)
                except TimeoutError:
                    if await request.is_disconnected():
                        raise ClientDisconnected from None
                    continue
                if isinstance(reply, ErrorReply):
                    raise RequestFailed(reply)
                pieces.append(reply.incremental_output)
                if reply.finished:
                    return Completed("".join(pieces), reply.finish_reason, reply.usage or Usage())
        finally:
            await self.abort_user(uid)

    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        queue = self.begin(uid)
        first, reply = True, None
        while reply is None or not reply.finished:
            reply = await queue.get()
            if isinstance(reply, ErrorReply):
                if first:
                    raise RequestFailed(reply)
                yield event(error_body(reply))
                return
            yield event(form.chunk(reply.incremental_output, first))
            first = False
        for body in form.ending(reply):
            yield event(body)
        yield DONE

    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in generator:
                yield chunk
        finally:
            await self.abort_user(uid)

    async def abort_user(self, uid: int) -> None:
        if uid in self.work:
            self.work[uid].cancel()
            await asyncio.sleep(0)
