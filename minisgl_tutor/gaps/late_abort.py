"""A cancelled stream is aborted by a background task, a fixed 0.1 s later (C5.129 to C5.141).

A stream that ends by another exception, or is closed, is not aborted at all (C5.141).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator

from starlette.requests import Request

from ..message import AbortMsg
from ..server.frontend import FrontendManager
from ..server.openai.failure import RequestFailed

logger = logging.getLogger(__name__)


class LateAbort(FrontendManager):
    async def stream_with_cancellation(
        self, generator: AsyncGenerator[bytes, None], request: Request, uid: int
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in generator:
                if await request.is_disconnected():
                    logger.info("the client of user %s has disconnected", uid)
                    raise asyncio.CancelledError
                yield chunk
        except asyncio.CancelledError:
            # Nothing keeps hold of this task: the end of the loop may come before it has run.
            asyncio.create_task(self.abort_user(uid), name=f"abort_user({uid})")  # noqa: RUF006
            raise
        except RequestFailed:
            await self.end_user(uid)  # the reference has no error reply: this end is not of its shape
            raise
        await self.end_user(uid)

    async def abort_user(self, uid: int) -> None:
        await asyncio.sleep(0.1)
        self.forget(uid)
        logger.warning("aborting the request of user %s", uid)
        await self.send_one(AbortMsg(uid=uid))
