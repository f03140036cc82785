"""How many bytes of requests' bodies may be in memory at once. One body has a bound; so has their sum."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..openai.failure import refused
from .admission import RETRY_AFTER_S

ALWAYS_TAKEN_BYTES = 64 << 10
"""A body of up to so many bytes is never refused: large ones of some shall not keep out those of others."""


class Bodies:
    """An app in front of another, whose requests have no more than ``limit`` bytes of bodies in all.

    A body counts from its first byte to the end of the answer, as the app keeps it so long. One that
    grows beyond ``ALWAYS_TAKEN_BYTES`` while there is no room fails: ``receive`` then raises
    ``RequestFailed``. ``held`` is the sum, and ``refused`` counts those that failed.
    """

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self.held = 0
        self.refused = 0
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        own = 0

        async def counted() -> Message:
            nonlocal own
            message = await receive()
            size = len(message.get("body", b""))
            own += size
            self.held += size
            if size and own > ALWAYS_TAKEN_BYTES and self.held > self._limit:
                self.refused += 1
                told = "the bodies of all requests are as large as the server takes; try again later"
                raise refused(told, None, "too_many_bytes", 503, {"Retry-After": str(RETRY_AFTER_S)})
            return message

        try:
            await self._app(scope, counted, send)
        finally:
            self.held -= own
