"""What stands around the app when it is served for real, and nowhere else.

    RequestLog > CORS > ApiKey > Admission > Bodies > (recording) > the app

A replay plays the app alone: what was turned away out here never came to it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp

from ..config import ServerArgs
from ..frontend import FrontendManager
from ..health import OK
from ..limits.access import REQUEST_ID, ApiKey, RequestLog
from ..limits.admission import Admission
from ..limits.bodies import Bodies
from ..limits.connections import ConnectionWatch
from ..limits.deadlines import Deadlines
from .ledger import Ledger
from .metrics import Metrics, MetricsPage
from .watch import FRONTEND, Pulses

LOOK_EVERY_S = 0.25

logger = logging.getLogger(__name__)


class Operations:
    """The layers of one server, and what watches over them.

    ``app`` is the application, ``core`` what is to be called in its place, such as a
    recorder of it. ``connections`` gives the open connections of clients. ``also_watched``
    is called at each look as well.
    """

    def __init__(
        self,
        args: ServerArgs,
        state: FrontendManager,
        app: FastAPI,
        core: ASGIApp,
        ledger: Ledger,
        pulses: Pulses,
    ) -> None:
        self.limits = limits = args.limits
        bodies = Bodies(core, limits)
        self.admission = Admission(bodies, state, args.max_running_req + limits.max_waiting)
        self.asgi: ASGIApp = self.admission
        if args.api_key is not None:
            self.asgi = ApiKey(self.asgi, args.api_key)
        if args.allow_origins:
            self.asgi = CORSMiddleware(
                self.asgi,
                allow_origins=args.allow_origins,
                allow_methods=["GET", "POST"],
                allow_headers=["*"],
                expose_headers=[REQUEST_ID],
            )
        self.asgi = RequestLog(self.asgi, time.monotonic)
        self.connections: Callable[[], Collection[object]] = list
        self.also_watched: list[Callable[[], None]] = []
        self._deadlines = Deadlines(state, ledger.overdue, limits)
        self._sweeper = ConnectionWatch(limits.idle_timeout, limits.write_timeout)
        self._pulses = pulses
        metrics = Metrics(
            args.served_model,
            state,
            ledger,
            self.admission,
            bodies,
            self._deadlines,
            pulses,
            lambda: len(self.connections()),
        )
        app.add_route("/metrics", MetricsPage(metrics).answer)
        app.state.workers = self.conditions
        app.state.admit = self.admission.admit

    def conditions(self) -> dict[str, str]:
        """How each process is: ``OK``, or what is wrong with it."""
        own = "is stopping" if self.admission.closed else OK
        return {FRONTEND: own, **self._pulses.conditions()}

    async def watch(self) -> None:
        """Looks after time limits, connections and workers, for ever."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            for look in (self._deadlines.look, self._sweep, self._pulses.listen, *self.also_watched):
                try:
                    look()
                except Exception:
                    logger.exception("a look at limits and workers failed; the next one may not")

    def _sweep(self) -> None:
        self._sweeper.sweep(self.connections(), time.monotonic())
