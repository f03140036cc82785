"""A stream that is cancelled ends as if its answer were complete.

Fails: leave-waiting: raised
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request

from minisgl_tutor.message import AbortMsg, ErrorReply, SamplingParams, TokenizeMsg, Usage
from minisgl_tutor.server.frontend import FrontendManager, Reply
from minisgl_tutor.server.openai.answer import Completed, ResponseForm
from minisgl_tutor.server.openai.failure import RequestFailed, error_body
from minisgl_tutor.server.openai.sse import DONE, event, unless_disconnected


class MyFrontendManager(FrontendManager):
    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.ack_map[uid] = []
        self.event_map[uid] = asyncio.Event()
        return uid

    async def submit(self, text: str | list[dict[str, str]], sampling_params: SamplingParams) -> int:
        uid = self.new_user()
        try:
            await self.send_one(TokenizeMsg(uid=uid, text=text, sampling_params=sampling_params))
        except BaseException:
            self.drop(uid)
            raise
        return uid

    def drop(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)

    def expects(self, uid: int) -> bool:
        return uid in self.ack_map

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        finished = False
        try:
            while not finished:
                await event.wait()
                event.clear()
                pending, self.ack_map[uid] = self.ack_map[uid], []
                for ack in pending:
                    finished = ack.finished
                    yield ack
                    if finished:
                        break
        finally:
            if finished:
                self.drop(uid)
            else:
                await self.abort_user(uid)

    async def collect(self, uid: int, request: Request) -> Completed:
        return await unless_disconnected(request.receive, self.join(uid))

    async def join(self, uid: int) -> Completed:
        pieces: list[str] = []
        async with aclosing(self.wait_for_ack(uid)) as replies:
            async for ack in replies:
                if isinstance(ack, ErrorReply):
                    raise RequestFailed(ack)
                pieces.append(ack.incremental_output)
                if ack.finished:
                    break
        return Completed("".join(pieces), ack.finish_reason, ack.usage or Usage())

    async def stream_chat_completions(self, uid: int, form: ResponseForm) -> AsyncGenerator[bytes, None]:
        first = True
        async with aclosing(self.wait_for_ack(uid)) as replies:
            async for ack in replies:
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

    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        try:
            async with aclosing(generator):
                async for chunk in generator:
                    yield chunk
        except asyncio.CancelledError:
            return

    async def abort_user(self, uid: int) -> None:
        if uid in self.ack_map:
            self.drop(uid)
            await self.send_one(AbortMsg(uid=uid))
