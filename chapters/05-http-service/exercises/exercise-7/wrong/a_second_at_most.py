"""Whoever waits for a whole answer for longer than a second is taken for one that has left.

Fails: end-whole: wrong-answer
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request

from minisgl_tutor.message import AbortMsg, ErrorReply, SamplingParams, TokenizeMsg, Usage
from minisgl_tutor.server.frontend import FrontendManager, Reply
from minisgl_tutor.server.openai.answer import Completed, ResponseForm
from minisgl_tutor.server.openai.failure import RequestFailed, error_body
from minisgl_tutor.server.openai.sse import DONE, ClientDisconnected, event

logger = logging.getLogger(__name__)


class MyFrontendManager(FrontendManager):
    def new_user(self) -> int:
        uid = self.uid_counter
        self.uid_counter += 1
        self.ack_map[uid] = []
        self.event_map[uid] = asyncio.Event()
        self.unanswered.add(uid)
        return uid

    async def submit(self, text: str | list[dict[str, str]], sampling_params: SamplingParams) -> int:
        uid = self.new_user()
        try:
            await self.send_one(TokenizeMsg(uid=uid, text=text, sampling_params=sampling_params))
        except BaseException:
            self._drop(uid)
            raise
        return uid

    def _drop(self, uid: int) -> None:
        self.ack_map.pop(uid, None)
        self.event_map.pop(uid, None)
        self.unanswered.discard(uid)

    async def end_user(self, uid: int) -> None:
        if uid in self.unanswered:
            await self.abort_user(uid)
        self._drop(uid)

    def expects(self, uid: int) -> bool:
        return uid in self.ack_map

    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        event = self.event_map[uid]
        while True:
            await event.wait()
            event.clear()
            pending = self.ack_map[uid]
            self.ack_map[uid] = []
            for ack in pending:
                yield ack
                if ack.finished:
                    return

    async def collect(self, uid: int, request: Request) -> Completed:
        work = asyncio.create_task(self._gather(uid))
        left = asyncio.create_task(self._until_left(request))
        try:
            await asyncio.wait({work, left}, return_when=asyncio.FIRST_COMPLETED, timeout=1)
            if work.done():
                return work.result()
            raise ClientDisconnected
        finally:
            work.cancel()
            left.cancel()
            await asyncio.gather(work, left, return_exceptions=True)
            await self.end_user(uid)

    async def _until_left(self, request: Request) -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    async def _gather(self, uid: int) -> Completed:
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
            async with aclosing(generator) as chunks:
                async for chunk in chunks:
                    yield chunk
        finally:
            await self.end_user(uid)

    async def abort_user(self, uid: int) -> None:
        if uid not in self.unanswered:
            return
        self._drop(uid)
        logger.info("aborting request %s", uid)
        await self.send_one(AbortMsg(uid=uid))
