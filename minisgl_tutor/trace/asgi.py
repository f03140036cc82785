"""An HTTP client of an ASGI app, in memory, that reads, stalls and leaves at exact instants.

The app is called as uvicorn would call it (see `connection`). What the client got is a transcript. Time is
the running loop's, virtual or not.
"""

from __future__ import annotations

import asyncio
import string
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote

from ..language import Sentence, sentence_of
from .connection import HIGH_WATER, Connection

if TYPE_CHECKING:
    from starlette.types import ASGIApp

Kind = Literal[
    "request",  # the client sent its request
    "status",  # the client got status and headers
    "chunk",  # the client got a piece of the body
    "completed",  # the client got the end of the answer
    "truncated",  # the server closed the connection before the end of the answer
    "left",  # the client closed the connection
    "blocked",  # the server has to wait before it can write more; told to the observer, as no client sees it
    "app returned",
    "app failed",
]


@dataclass(frozen=True, slots=True)
class ClientEvent:
    """A line of a transcript. `data`: a chunk. `note`: the request line, the status, what was raised, or a
    word on what happened.
    """

    at_us: int
    kind: Kind
    data: bytes = b""
    note: Sentence | str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a client reads; by default it takes everything at once and stays.

    The client takes one chunk after the other; each needs `us_per_chunk`, plus its length at
    `bytes_per_second`, and stays in the server's write buffer until it is taken. In a stall (from, until)
    nothing is taken; a chunk that was being read is begun anew afterwards. `leaves_before_chunk=n` closes
    the connection when the app sends a further chunk after n, or more at once, were accepted. In `blocks`,
    (n, until): a chunk after n or more has to wait until then, as it once had to. All instants
    are microseconds of the running loop's time.
    """

    us_per_chunk: int = 0
    bytes_per_second: int | None = None
    stalls_us: tuple[tuple[int, int], ...] = ()
    leaves_at_us: int | None = None
    leaves_before_chunk: int | None = None
    blocks: tuple[tuple[int, int], ...] = ()

    def us(self, chunk: bytes) -> int:
        """How long it takes to read a chunk."""
        by_length = -(-len(chunk) * 1_000_000 // self.bytes_per_second) if self.bytes_per_second else 0
        return self.us_per_chunk + by_length


AT_ONCE = Reader()


class AsgiClient:
    """Sends requests to an app, each over a connection of its own. `exchanges` keeps them, oldest first.

    `spec_version` is the version of the HTTP spec that the server declares. After a disconnect `send()`
    does nothing below "2.4", as under uvicorn ("2.3"), and raises OSError from "2.4" on. `observer` gets
    each event as it happens, within the call that brought it about.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        spec_version: str = "2.3",
        high_water: int = HIGH_WATER,
        address: tuple[str, int] = ("127.0.0.1", 1919),
        observer: Callable[[Exchange, ClientEvent], None] | None = None,
    ) -> None:
        self.app = app
        self.spec_version = spec_version
        self.high_water = high_water
        self.address = address
        self.observer = observer
        self.exchanges: list[Exchange] = []

    def request(
        self,
        method: str,
        target: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes = b"",
        reader: Reader = AT_ONCE,
    ) -> Exchange:
        """Send a request now; the app runs in a task of the running loop. `target`: path and query."""
        host, port = self.address
        fields = {"host": f"{host}:{port}"} | ({"content-length": str(len(body))} if body else {})
        fields |= {name.lower(): value for name, value in (headers or {}).items()}
        path, _, query = quote(target, safe=string.printable).partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": self.spec_version},
            "http_version": "1.1",
            "server": self.address,
            "client": (host, 50_000 + len(self.exchanges)),
            "scheme": "http",
            "method": method,
            "root_path": "",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in fields.items()],
            "state": {},
        }
        exchange = Exchange(f"{method} {target}", reader, self.observer)
        self.exchanges.append(exchange)
        exchange._begin(self.app, Connection(exchange, scope, body, self.high_water))
        return exchange


class Exchange:
    """One request and its answer, as the client sees them.

    `events` is the transcript; `status`, `headers`, `chunks` and `body` are what has arrived so far;
    `app_traceback` is what the app raised, as text.
    """

    def __init__(
        self, name: str, reader: Reader, observer: Callable[[Exchange, ClientEvent], None] | None
    ) -> None:
        self.name = name
        self.events: list[ClientEvent] = []
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.app_traceback = ""
        self._reader = reader
        self._observer = observer
        self._loop = asyncio.get_running_loop()
        self._over = asyncio.Event()
        self._app_over = asyncio.Event()
        self._stalled = False
        self._taking: asyncio.TimerHandle | None = None
        self._blocks = deque(reader.blocks)
        self._plans: list[asyncio.TimerHandle] = []

    @property
    def chunks(self) -> list[bytes]:
        return [event.data for event in self.events if event.kind == "chunk"]

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def over(self) -> bool:
        """Nothing more will arrive: the answer is complete or truncated, or the client left."""
        return self._over.is_set()

    @property
    def app_over(self) -> bool:
        """The app returned or failed, which may be before or after the client's side is over, or never."""
        return self._app_over.is_set()

    @property
    def reading(self) -> bool:
        """The client is taking a chunk, for which it needs time."""
        return self._taking is not None

    async def wait(self) -> None:
        """Until `over`."""
        await self._over.wait()

    async def wait_app(self) -> None:
        """Until `app_over`."""
        await self._app_over.wait()

    def sending(self, chunks_before: int) -> None:
        """The app sends a chunk, which is not accepted if the client leaves now."""
        limit = self._reader.leaves_before_chunk
        if limit is not None and chunks_before >= limit:
            self.leave()

    def blocked_until(self, chunks_before: int) -> float:
        """The loop's time before which a chunk may not be written."""
        until_us = 0
        while self._blocks and self._blocks[0][0] <= chunks_before:
            until_us = self._blocks.popleft()[1]
        return until_us / 1e6

    def blocked(self) -> None:
        """The app has to wait with a write, as the client has not read."""
        if self._observer is not None:
            note = Sentence("the client does not read, so this write waits")
            self._observer(self, ClientEvent(self._now_us(), "blocked", note=note))

    def stall(self) -> None:
        """Stop reading."""
        self._stalled = True
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def resume(self) -> None:
        """Read on."""
        self._stalled = False
        self.readable()

    def slow_down(self, us_per_chunk: int) -> None:
        """Read each further chunk so slowly; no more than one byte may wait on the way."""
        self._reader = replace(self._reader, us_per_chunk=us_per_chunk)
        self._connection.narrow(1)

    def leave(self) -> None:
        """Close the connection; the server learns of it at once. Does nothing once the exchange is over."""
        if not self.over:
            self._end("left")
            self._connection.lost()

    def _begin(self, app: ASGIApp, connection: Connection) -> None:
        self._connection = connection
        self._record("request", note=self.name)
        self._serving = self._loop.create_task(connection.serve(app), name=self.name)
        if self._reader.leaves_at_us is not None:
            self._plan(self._reader.leaves_at_us, self.leave)
        for begin, end in self._reader.stalls_us:
            self._plan(begin, self.stall)
            self._plan(end, self.resume)

    def _plan(self, at_us: int, action: Callable[[], None]) -> None:
        if self.over:
            return
        if at_us <= self._now_us():
            action()
        else:
            self._plans.append(self._loop.call_at(at_us / 1e6, action))

    def readable(self) -> None:
        """Take what has been written, as far as this reader is by now."""
        while not (self._stalled or self._taking or self.over) and self._connection.written:
            first = self._connection.written[0]
            us = self._reader.us(first.data) if first.kind == "chunk" else 0
            if us:
                self._taking = self._loop.call_later(us / 1e6, self._take)
            else:
                self._take()

    def _take(self) -> None:
        late, self._taking = self._taking, None
        piece = self._connection.taken()
        if piece.kind == "status":
            self.status, self.headers = piece.status, dict(piece.headers)
            self._record("status", note=str(piece.status))
        elif piece.kind == "chunk":
            self._record("chunk", piece.data)
        else:
            self._end(piece.kind)
        if late:
            self.readable()

    def _end(self, kind: Kind) -> None:
        self.stall()
        for plan in self._plans:
            plan.cancel()
        self._over.set()
        self._record(kind)

    def app_ended(self, error: BaseException | None) -> None:
        self._app_over.set()
        if error is None:
            self._record("app returned")
        else:
            # As text: the error itself would keep the app's generators alive, which end as it is let go.
            self.app_traceback = "".join(traceback.format_exception(error))
            what = sentence_of(error)
            self._record("app failed", note=Sentence("{kind}: {what}", kind=type(error).__name__, what=what))

    def _record(self, kind: Kind, data: bytes = b"", note: Sentence | str = "") -> None:
        event = ClientEvent(self._now_us(), kind, data, note)
        self.events.append(event)
        if self._observer is not None:
            self._observer(self, event)

    def _now_us(self) -> int:
        return round(self._loop.time() * 1e6)
