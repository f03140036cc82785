"""Server-Sent Events, and the response that carries them (claims part E).

Starlette's own streaming response notices a client that leaves in one way under
ASGI spec 2.3 and in another from 2.4 on, where an idle stream is never told.
This one watches for the disconnect itself, under either.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any, TypeVar

from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from .answer import to_json
from .failure import RequestFailed, error_body

logger = logging.getLogger(__name__)

DONE = b"data: [DONE]\n\n"
"""The end mark that the interface agrees on; SSE itself has none (C5.98)."""

T = TypeVar("T")


class ClientDisconnected(Exception):
    """The client left before its answer was complete."""


def event(body: dict[str, Any]) -> bytes:
    """One data event, with the blank line that ends it (C5.87, C5.103)."""
    return b"data: " + to_json(body) + b"\n\n"


def error_response(failure: RequestFailed) -> Response:
    return JSONResponse(error_body(failure.reply), failure.reply.status, failure.headers)


async def unless(interruption: Coroutine[Any, Any, Exception], work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is cancelled when ``interruption`` comes first.

    Raises:
        Exception: the one that ``interruption`` returned; ``work`` has ended by then.
    """
    worker = asyncio.ensure_future(work)
    watcher = asyncio.ensure_future(interruption)
    try:
        await asyncio.wait((worker, watcher), return_when=asyncio.FIRST_COMPLETED)
        if worker.done():
            return worker.result()
        raise watcher.result()
    finally:
        worker.cancel()
        watcher.cancel()
        await asyncio.gather(worker, watcher, return_exceptions=True)


async def unless_disconnected(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is cancelled when the client leaves first.

    Raises:
        ClientDisconnected: the client left; ``work`` has ended by then.
    """

    async def disconnect() -> ClientDisconnected:
        while (await receive())["type"] != "http.disconnect":
            pass
        return ClientDisconnected()

    return await unless(disconnect(), work)


class EventStream(StreamingResponse):
    """Sends the chunks of an asynchronous generator as they come, and closes it however the stream ends.

    The status waits for the first chunk: a request that fails before it gets the
    status of its error, even on a stream. A client that leaves is noticed while
    the generator waits, too; the generator then sees a cancellation.
    """

    body_iterator: AsyncGenerator[bytes, None]

    def __init__(self, body: AsyncGenerator[bytes, None]) -> None:
        super().__init__(body, media_type="text/event-stream", headers={"Cache-Control": "no-cache"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self.body_iterator):
            try:
                await unless_disconnected(receive, self._pump(scope, receive, send))
            except (ClientDisconnected, OSError):
                logger.debug("client left its stream")

    async def _pump(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            chunk = await anext(self.body_iterator)
        except RequestFailed as failure:
            await error_response(failure)(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": chunk, "more_body": True})
        async for chunk in self.body_iterator:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})
