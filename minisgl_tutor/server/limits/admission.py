"""How many requests may be inside at once. Beyond that, and while the server is to stop, none comes in."""

from __future__ import annotations

import asyncio
from collections import Counter

from starlette.types import ASGIApp, Receive, Scope, Send

from ..frontend import FrontendManager
from ..openai.failure import RequestFailed, refused
from ..openai.refusal import refusal
from ..openai.sse import error_response

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

    def admit(self) -> None:
        """To be called by the app before it submits the answers that a request asks for: of requests
        that came together, those ahead may have asked for very many.

        Raises:
            RequestFailed: there are as many as there may be.
        """
        if len(self._state.unanswered) >= self._limit:
            raise self._too_many()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        if self._closed:
            self.refused["stopping"] += 1
            headers = {"Retry-After": str(RETRY_AFTER_S), "Connection": "close"}
            await refusal(503, self._closed, "server_stopping", headers)(scope, receive, send)
            return
        if self.inside >= self._limit or len(self._state.unanswered) >= self._limit:
            await error_response(self._too_many())(scope, receive, send)
            return
        self.inside += 1
        self._empty.clear()
        try:
            async with self._turn:
                await asyncio.sleep(0)
            await self._app(scope, receive, send)
        finally:
            self.inside -= 1
            if not self.inside:
                self._empty.set()

    def _too_many(self) -> RequestFailed:
        self.refused["too_many"] += 1
        message = f"the server has {self._limit} requests already, as many as it takes; try again later"
        return refused(message, None, "too_many_requests", 429, {"Retry-After": str(RETRY_AFTER_S)})
