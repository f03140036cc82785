"""A request's body is taken whole before the app sees the request.

A body may be huge, or come slowly, or never end. So its size has a bound, and a
server that stops does not wait for it.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..message import ErrorReply
from .frontend import FrontendManager
from .protocol import RequestFailed
from .sse import ClientDisconnected, error_response, unless

MAX_BODY_BYTES = 16 << 20
"""Far above a prompt of a million tokens, each character an escape."""


class WholeBody:
    """An app in front of another, which gets no request whose body is too large or has no end."""

    def __init__(self, app: ASGIApp, state: FrontendManager) -> None:
        self._app = app
        self._state = state

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            body = await unless(self._stopping(), _read(receive))
        except ClientDisconnected:
            return
        except RequestFailed as failure:
            await error_response(failure)(scope, receive, send)
            return
        messages = iter([{"type": "http.request", "body": body, "more_body": False}])

        async def body_first() -> Message:
            return next(messages, None) or await receive()

        await self._app(scope, body_first, send)

    async def _stopping(self) -> RequestFailed:
        return RequestFailed(await self._state.failing())


async def _read(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnected
        body += message.get("body", b"")
        if len(body) > MAX_BODY_BYTES:
            limit = f"the body is larger than {MAX_BODY_BYTES >> 20} MiB; send a shorter prompt"
            raise RequestFailed(ErrorReply(uid=-1, message=limit, status=413, code="body_too_large"))
        if not message.get("more_body", False):
            return bytes(body)
