"""An HTTP client and a server's side of the connection, in memory, around an ASGI app.

What the app sees is what uvicorn would show it (tested side by side), but the client reads, stalls and leaves at
exact instants of the running loop's time, and what it got is a transcript. There is no HTTP framing: a chunk is
the body of one `http.response.body` message.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import unquote

Message = MutableMapping[str, Any]
App = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]
Kind = Literal[
    "request",  # the client sent its request
    "status",  # the client got status and headers
    "chunk",  # the client got a piece of the body
    "completed",  # the client got the end of the answer
    "truncated",  # the server closed the connection before the end of the answer
    "left",  # the client closed the connection
    "app returned",
    "app failed",
]
SpecVersion = Literal["2.3", "2.4"]

HIGH_WATER = 65536
"""Bytes that asyncio's transport takes in before it makes the writer wait, and uvicorn of a request's body."""


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a transcript. `data`: the bytes of a chunk; `note`: status, request line or error."""

    at_us: int
    kind: Kind
    data: bytes = b""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    """How a client reads. The default one takes everything at once and stays.

    A chunk is taken `us_per_chunk` after the client turned to it, and later by its length at `bytes_per_second`;
    it occupies the server's buffer until then. Instants are the loop's microseconds. During a stall nothing is
    taken; a chunk being read then is begun anew. `leaves_before_chunk=n` closes the connection as the app sends
    chunk n (counted from 0), before it is accepted.
    """

    us_per_chunk: int = 0
    bytes_per_second: int | None = None
    stalls_us: tuple[tuple[int, int], ...] = ()
    leaves_at_us: int | None = None
    leaves_before_chunk: int | None = None

    def us(self, size: int) -> int:
        by_length = -(-size * 1_000_000 // self.bytes_per_second) if self.bytes_per_second else 0
        return self.us_per_chunk + by_length


AT_ONCE = Reader()


class AsgiClient:
    """Sends requests to `app`, each on a connection of its own.

    `spec_version` is what the server says that it follows: with "2.3" `send()` after a disconnect does nothing, as
    under uvicorn; with "2.4" it raises OSError. `observer` is called for each event as it happens, within the
    code that brought it about. `exchanges` keeps all, oldest first.
    """

    def __init__(
        self,
        app: App,
        *,
        spec_version: SpecVersion = "2.3",
        high_water: int = HIGH_WATER,
        server: tuple[str, int] = ("127.0.0.1", 1919),
        observer: Callable[[Exchange, Event], None] | None = None,
    ) -> None:
        self.app = app
        self.spec_version = spec_version
        self.high_water = high_water
        self.server = server
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
        """Send a request now and return at once; the app runs in a task of the running loop."""
        all_headers = {"host": "{}:{}".format(*self.server)}
        if body:
            all_headers["content-length"] = str(len(body))
        all_headers |= {name.lower(): value for name, value in (headers or {}).items()}
        path, _, query = target.partition("?")
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": self.spec_version},
            "http_version": "1.1",
            "server": self.server,
            "client": ("127.0.0.1", 50_000 + len(self.exchanges)),
            "scheme": "http",
            "method": method,
            "root_path": "",
            "path": unquote(path),
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in all_headers.items()],
            "state": {},
        }
        exchange = Exchange(scope, body, reader, self.high_water, self.observer)
        self.exchanges.append(exchange)
        exchange._start(self.app)
        return exchange


class Exchange:
    """One request and its answer, as the client sees it. `events` is the transcript.

    `status` is None and `headers` empty until they arrive; `body` is what has arrived. `app_error` is what the app
    raised.
    """

    def __init__(
        self,
        scope: dict[str, Any],
        body: bytes,
        reader: Reader,
        high_water: int,
        observer: Callable[[Exchange, Event], None] | None,
    ) -> None:
        self.method: str = scope["method"]
        self.target = scope["raw_path"].decode() + ("?" + scope["query_string"].decode()).rstrip("?")
        self.events: list[Event] = []
        self.status: int | None = None
        self.headers: dict[str, str] = {}
        self.app_error: BaseException | None = None
        self._loop = asyncio.get_running_loop()
        self._reader = reader
        self._observer = observer
        self._pipe = _Pipe(high_water)
        self._server = _Server(scope, body, self._pipe, self)
        self._stalled = False
        self._taking: asyncio.TimerHandle | None = None
        self._plan: list[asyncio.TimerHandle] = []
        self._over = asyncio.Event()
        self._app_over = asyncio.Event()

    @property
    def body(self) -> bytes:
        return b"".join(self.chunks)

    @property
    def chunks(self) -> list[bytes]:
        return [event.data for event in self.events if event.kind == "chunk"]

    @property
    def over(self) -> bool:
        """The client got the end of the answer, or there will be none: completed, truncated or left."""
        return self._over.is_set()

    @property
    def app_over(self) -> bool:
        """The app returned or failed. Both orders are possible: an app may go on after the answer."""
        return self._app_over.is_set()

    async def wait(self) -> None:
        """Until the client's side is over. Use `wait_app` for the app's: after a disconnect it may never be."""
        await self._over.wait()

    async def wait_app(self) -> None:
        await self._app_over.wait()

    def stall(self) -> None:
        """Stop reading."""
        self._stalled = True
        if self._taking is not None:
            self._taking.cancel()
            self._taking = None

    def resume(self) -> None:
        """Read on."""
        self._stalled = False
        self._read()

    def leave(self) -> None:
        """Close the connection. The server knows at once. Nothing happens if the exchange is over."""
        if not self.over:
            self._end("left")
            self._pipe.abandon(self._server.lost)

    def _start(self, app: App) -> None:
        self._record("request", note=f"{self.method} {self.target}")
        for since, until in self._reader.stalls_us:
            self._plan += self._at(since, self.stall), self._at(until, self.resume)
        if self._reader.leaves_at_us is not None:
            self._plan.append(self._at(self._reader.leaves_at_us, self.leave))
        task = self._loop.create_task(self._server.run(app), name=f"{self.method} {self.target}")
        task.add_done_callback(lambda _: self._app_over.set())
