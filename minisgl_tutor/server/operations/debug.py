"""``/debug/held``: the live audit over HTTP, for whoever looks after a server or studies it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextvars import ContextVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ..api_server import Stamp
from ..frontend import FrontendManager
from .audit import Audit, HttpRequest, Look
from .watch import FRONTEND, Pulses

HELD_PATH = "/debug/held"
LOOK_EVERY_S = 1.0


class AuditedApp:
    """An ASGI app whose requests are followed to the ends of their answers."""

    def __init__(self, app: ASGIApp, audit: Audit) -> None:
        self._app = app
        self._audit = audit
        self._exchange: ContextVar[HttpRequest] = ContextVar("exchange")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        exchange = HttpRequest()
        self._exchange.set(exchange)
        try:
            await self._app(scope, receive, send)
        finally:
            self._audit.over(exchange)

    def stamp(self, fresh: Stamp) -> Stamp:
        """``fresh``, which also tells whose exchange a uid belongs to."""

        def audited(uid: int) -> tuple[str, int]:
            self._audit.belongs(uid, self._exchange.get())
            return fresh(uid)

        return audited


class HeldPage:
    """Answers ``HELD_PATH``: what the front end holds now, and workers held at their last sign of life."""

    def __init__(
        self,
        model: str,
        audit: Audit,
        state: FrontendManager,
        pulses: Pulses,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._audit = audit
        self._state = state
        self._pulses = pulses
        self._clock = clock
        self._looked = float("-inf")

    def watch(self) -> None:
        """Looks once a second, asked or not, so that it is known since when something is held."""
        if self._clock() - self._looked >= LOOK_EVERY_S:
            self._look()

    async def answer(self, request: Request) -> Response:
        self._look()
        report = self._audit.report(self._model)
        return Response(msgspec.json.encode(report), media_type="application/json")

    def _look(self) -> None:
        self._pulses.listen()
        self._looked = self._clock()
        looks = {FRONTEND: Look(self._looked, self._state.held())}
        for name, beat in self._pulses.beats.items():
            looks[name] = Look(beat.taken, beat.requests, beat.round_s)
        self._audit.look(looks)
