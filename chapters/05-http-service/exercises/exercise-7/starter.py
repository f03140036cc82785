"""Exercise 7: whatever ends a request, nothing of it may stay behind.

This class serves every answer, and forgets to clean up in more than one place.
The routes of the server call `submit`, then either `collect`, or
`stream_with_cancellation` over `stream_chat_completions`. Change what you like
in here, methods that you only inherit included, and let
`minisgl-tutor check exercise-7` judge it. What is right is told in exercise-7.md,
beside this file.

The class that it derives from, in minisgl_tutor/server/frontend.py, is itself one
right answer; you learn more if you try before you read it. `request`, Starlette's, has
two ways to notice a client that leaves before its whole answer is there: `receive()`
waits for an "http.disconnect", and `is_disconnected()` says at once whether it has left.
Raise ClientDisconnected, of minisgl_tutor.server.openai.sse, when you have noticed.
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
    # -- a request comes in

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

    # -- its replies come back (`listen`, which you inherit, files those that are expected)

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

    # -- its answer goes out: whole, or as a stream

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

    # -- its client leaves

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
