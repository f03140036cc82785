"""The scheduler is right; encoder and guard both send the end mark.

Fails: limit: end-mark
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import Request

from minisgl_tutor.message import FinishReason
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.server.frontend import FrontendManager


class MyScheduler(Scheduler):
    def _finish_reason(self, req: Req, token: int) -> FinishReason | None:
        is_eos = token in self.eos_token_ids and not req.sampling_params.ignore_eos
        if is_eos:
            return "stop"
        return None if req.can_decode else "length"


class MyFrontendManager(FrontendManager):
    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        async with aclosing(super().stream_with_cancellation(generator, request, uid)) as chunks:
            async for chunk in chunks:
                yield chunk
        yield b"data: [DONE]\n\n"
