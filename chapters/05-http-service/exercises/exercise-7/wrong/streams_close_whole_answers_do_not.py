"""The stream closes its generator, the collector breaks and leaves it to the garbage collector.

Fails: end-whole: kept
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request

from minisgl_tutor.message import ErrorReply, Usage
from minisgl_tutor.server.frontend import FrontendManager, Reply
from minisgl_tutor.server.openai.answer import Completed
from minisgl_tutor.server.openai.failure import RequestFailed


class MyFrontendManager(FrontendManager):
    async def wait_for_ack(self, uid: int) -> AsyncGenerator[Reply, None]:
        async with self.own(uid), aclosing(super().wait_for_ack(uid)) as replies:
            async for reply in replies:
                yield reply

    async def collect(self, uid: int, request: Request) -> Completed:
        return await self.unless_disconnected(request, self.gather(uid))

    async def gather(self, uid: int) -> Completed:
        pieces: list[str] = []
        async for reply in self.wait_for_ack(uid):
            if isinstance(reply, ErrorReply):
                raise RequestFailed(reply)
            pieces.append(reply.incremental_output)
            if reply.finished:
                break
        return Completed("".join(pieces), reply.finish_reason, reply.usage or Usage())
