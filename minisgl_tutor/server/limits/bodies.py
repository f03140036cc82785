"""How many bytes of requests' bodies may be in memory at once. One body has a bound; so has their sum."""

from __future__ import annotations

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..config import Limits
from ..openai.failure import refused
from .admission import RETRY_AFTER_S

ALWAYS_TAKEN_BYTES = 64 << 10
"""A body of up to so many bytes is never refused: large ones of some shall not keep out those of others."""


class Bodies:
    """An app in front of another, whose requests have no more than ``max_bodies_bytes`` of bodies in all.

    A body counts from its first byte to the end of the answer, as the app keeps it so long. One that
    grows beyond ``ALWAYS_TAKEN_BYTES`` gets the room that it has announced, so that of many that come
    together as many as fit come in. If there is none, it fails: ``receive`` raises ``RequestFailed``.
    ``held`` is the sum, and ``refused`` counts those that failed.
    """

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        self.held = 0
        self.refused = 0
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        come = room = 0
        length = Headers(scope=scope).get("content-length", "")
        announced = min(int(length[:18]), self._limits.max_body_bytes) if length.isdecimal() else 0

        async def counted() -> Message:
            nonlocal come, room
            message = await receive()
            come += len(message.get("body", b""))
            is_large = come > ALWAYS_TAKEN_BYTES
            more = max(come, announced if is_large else 0) - room
            if more > 0:
                if is_large and self.held + more > self._limits.max_bodies_bytes:
                    self.refused += 1
                    told = "the bodies of all requests are as large as the server takes; try again later"
                    raise refused(told, None, "too_many_bytes", 503, {"Retry-After": str(RETRY_AFTER_S)})
                room += more
                self.held += more
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            self.held -= room
