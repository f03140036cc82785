"""A request's body is taken whole before the app sees the request.

A body may be huge, or come slowly, or never end. So its size and its time have a
bound, and a server that stops does not wait for it. That a client has left by the
time of its answer is not a failure of the app.
"""

from __future__ import annotations

import asyncio

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .config import Limits
from .frontend import FrontendManager
from .openai.bulk import Examine
from .openai.failure import RequestFailed, refused
from .openai.sse import ClientDisconnected, error_response, unless


class WholeBody:
    """An app in front of another, which gets no request whose body is too large or has no end."""

    def __init__(self, app: ASGIApp, state: FrontendManager, limits: Limits, examine: Examine) -> None:
        self._app = app
        self._state = state
        self._limits = limits
        self._examine = examine

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await unless(self._stopping(), self._in_time(receive))
            await self._examine(body)
        except ClientDisconnected:
            return
        except RequestFailed as failure:
            await error_response(failure)(scope, receive, send)
            return
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def body_first() -> Message:
            return next(messages, None) or await receive()

        client = _Client(send)
        try:
            await self._app(scope, body_first, client.send)
        except OSError:
            if not client.gone:
                raise

    async def _stopping(self) -> RequestFailed:
        return RequestFailed(await self._state.failing())

    async def _in_time(self, receive: Receive) -> bytes:
        try:
            async with asyncio.timeout(self._limits.body_timeout):
                return await _read(receive, self._limits.max_body_bytes)
        except TimeoutError:
            message = f"the body did not arrive within {self._limits.body_timeout:g} s; send it again"
            raise refused(message, None, "body_timeout", 408) from None


class _Client:
    """The receiver of an answer. From ASGI 2.4 on, sending to one that is gone raises OSError."""

    def __init__(self, send: Send) -> None:
        self.gone = False
        self._send = send

    async def send(self, message: Message) -> None:
        try:
            await self._send(message)
        except OSError:
            self.gone = True
            raise


async def _read(receive: Receive, max_bytes: int) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        body += message.get("body", b"")
        if len(body) > max_bytes:
            limit = f"the body is larger than {max_bytes:,} bytes; send a shorter prompt"
            raise refused(limit, None, "body_too_large", 413)
        if not message.get("more_body", False):
            return bytes(body)
