"""How many requests may be inside at once. Beyond that, and while the server is to stop, none comes in."""

from __future__ import annotations

import asyncio
from collections import Counter

from starlette.types import ASGIApp, Receive, Scope, Send

from ..frontend import FrontendManager
from ..openai.refusal import refusal

RETRY_AFTER_S = 1

AT_ONCE = 64
"""Parsing a request takes over half a millisecond, in which nothing else runs."""


class Admission:
    """An app in front of another, which gets no more than ``limit`` POST requests at a time.

    A request is inside from its first byte to the end of its answer. One that asks
    for several answers counts as so many once they have been submitted. ``refused``
    counts those turned away, by the reason.

    Of many that come together no more than ``AT_ONCE`` are let through in a turn of
    the event loop, so that the answers of others go on.
    """

    def __init__(self, app: ASGIApp, state: FrontendManager, limit: int) -> None:
        self.inside = 0
        self.refused: Counter[str] = Counter()
        self._app = app
        self._state = state
        self._limit = limit
        self._closed = ""
        self._turn = asyncio.Semaphore(AT_ONCE)
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def closed(self) -> str:
        """Why no more requests are taken; empty while they are."""
        return self._closed

    def close(self, reason: str) -> None:
        """Takes no more requests from now on; those inside go on."""
        self._closed = reason

    async def empty(self) -> None:
        """Waits until nobody is inside."""
        await self._empty.wait()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        if self._closed:
            self.refused["stopping"] += 1
            headers = {"Retry-After": str(RETRY_AFTER_S), "Connection": "close"}
            await refusal(503, self._closed, "server_stopping", headers)(scope, receive, send)
            return
        if self.inside >= self._limit or self._has_all():
            await self._refuse(scope, receive, send)
            return
        self.inside += 1
        self._empty.clear()
        try:
            async with self._turn:
                await asyncio.sleep(0)
            if self._has_all():  # of those that came together, the first may have asked for very many
                await self._refuse(scope, receive, send)
                return
            await self._app(scope, receive, send)
        finally:
            self.inside -= 1
            if not self.inside:
                self._empty.set()

    def _has_all(self) -> bool:
        return len(self._state.unanswered) >= self._limit

    async def _refuse(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.refused["too_many"] += 1
        message = f"the server has {self._limit} requests already, as many as it takes; try again later"
        headers = {"Retry-After": str(RETRY_AFTER_S)}
        await refusal(429, message, "too_many_requests", headers)(scope, receive, send)
