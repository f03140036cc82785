"""The server's side of one HTTP exchange: what uvicorn shows an app, with a write buffer instead of a socket.

Tests run the same apps here and on real uvicorn. There is no HTTP framing: a chunk is the body of one
`http.response.body` message, and only such bytes count against the buffer.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from ..language import Sentence
from ..recording.lines import chunks_in

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

HIGH_WATER = 65536  # asyncio's for a write buffer, and uvicorn's for a piece of a request's body

_ERROR_HEADERS = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]


class Piece(NamedTuple):
    """Written and not yet taken. `truncated`: the server closed before the end of the answer."""

    kind: Literal["status", "chunk", "completed", "truncated"]
    data: bytes = b""
    status: int = 0
    headers: Mapping[str, str] = MappingProxyType({})


class Client(Protocol):
    """What a connection tells the client at its other end."""

    def blocked_until(self, chunks_before: int) -> float: ...

    def blocked(self) -> None: ...

    def sending(self, chunks_before: int) -> None: ...

    def readable(self) -> None: ...

    def app_ended(self, error: BaseException | None) -> None: ...


class Connection:
    """Serves one request. The client takes from `written` by `taken()`, and calls `lost()` when it goes.

    `send()` returns at once while at most `high_water` bytes wait to be taken, and else waits until no more
    than a quarter is left. Once the client is gone it does nothing, or raises OSError where the scope
    declares spec 2.4 or newer. `receive()` gives the body, then waits for the end of the response or of the
    connection, and from then on gives `http.disconnect` each time.
    """

    def __init__(self, client: Client, scope: dict[str, Any], body: bytes, high_water: int) -> None:
        self.written: deque[Piece] = deque()
        self._client = client
        self._scope = scope
        self._raises_when_lost = tuple(map(int, scope["asgi"]["spec_version"].split("."))) >= (2, 4)
        self._high_water = high_water
        self._untaken = 0
        self._writable = asyncio.Event()
        self._writable.set()
        self._gone = asyncio.Event()
        self._request = deque(body[i : i + HIGH_WATER] for i in range(0, len(body) or 1, HIGH_WATER))
        self._news = asyncio.Event()
        self._news.set()
        self._started = False
        self._complete = False
        self._lost = False
        self._chunks = 0
        self._still_declared: int | None = None

    async def serve(self, app: ASGIApp) -> None:
        """Run the app, and give the answer, or close, in its place if it ended without."""
        try:
            await app(self._scope, self.receive, self.send)
        except BaseException as error:
            if _from_outside(error):
                raise
            self._client.app_ended(error)
        else:
            self._client.app_ended(None)
        if self._lost or self._complete:
            return
        if self._started:
            # A client that knows the length of the answer has the whole of it by then.
            self._write(Piece("completed" if self._still_declared == 0 else "truncated"))
            self.lost()
        else:
            await self.send({"type": "http.response.start", "status": 500, "headers": _ERROR_HEADERS})
            await self.send({"type": "http.response.body", "body": b"Internal Server Error"})

    async def receive(self) -> Message:
        if not (self._lost or self._complete):
            await self._news.wait()
            self._news.clear()
        if self._lost or self._complete:
            return {"type": "http.disconnect"}
        piece = self._request.popleft() if self._request else b""
        if self._request:
            self._news.set()
        return {"type": "http.request", "body": piece, "more_body": bool(self._request)}

    async def send(self, message: Message) -> None:
        body: bytes = b"" if self._scope["method"] == "HEAD" else message.get("body", b"")
        await self._until_writable(body)
        if body:
            self._client.sending(self._chunks)
        if self._lost:
            if self._raises_when_lost:
                raise OSError(Sentence("The client has closed the connection."))
            return
        if self._complete:
            raise RuntimeError(
                Sentence(
                    "ASGI message {kind!r} was sent after the end of the response.", kind=message["type"]
                )
            )
        due = "http.response.body" if self._started else "http.response.start"
        if message["type"] != due:
            raise RuntimeError(
                Sentence(
                    "ASGI message {due!r} was due, but {kind!r} was sent.", due=due, kind=message["type"]
                )
            )
        if self._started:
            self._send_body(body, message.get("more_body", False))
        else:
            self._send_start(message["status"], message.get("headers", ()))

    async def _until_writable(self, body: bytes) -> None:
        until = self._client.blocked_until(self._chunks) if body else 0
        has_to_wait = until > asyncio.get_running_loop().time() and not self._lost
        if has_to_wait or not self._writable.is_set():
            self._client.blocked()
        if has_to_wait:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(until):
                    await self._gone.wait()
        await self._writable.wait()

    def taken(self) -> Piece:
        """The client takes the first piece."""
        piece = self.written.popleft()
        self._untaken -= len(piece.data)
        if self._untaken <= self._high_water // 4:
            self._writable.set()
        return piece

    def narrow(self, high_water: int) -> None:
        """From now on the app waits as soon as more than so many bytes are untaken."""
        self._high_water = high_water

    def lost(self) -> None:
        """The connection is gone: whoever waits in `receive()` or `send()` goes on."""
        self._lost = not self._complete
        self._gone.set()
        self._news.set()
        self._writable.set()

    def _send_start(self, status: int, headers: Any) -> None:
        decoded = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
        bodyless = status in (204, 304) or self._scope["method"] == "HEAD"
        length = "0" if bodyless else decoded.get("content-length")
        self._still_declared = None if length is None else int(length)
        self._started = True
        self._write(Piece("status", status=status, headers=decoded))

    def _send_body(self, body: bytes, more: bool) -> None:
        if self._still_declared is not None:
            if len(body) > self._still_declared:
                raise RuntimeError(Sentence("The response is longer than its Content-Length."))
            self._still_declared -= len(body)
        if body:
            self._chunks += chunks_in(body)
            self._write(Piece("chunk", body))
        if more:
            return
        if self._still_declared:
            raise RuntimeError(Sentence("The response is shorter than its Content-Length."))
        self._complete = True
        self._news.set()
        self._write(Piece("completed"))

    def _write(self, piece: Piece) -> None:
        self.written.append(piece)
        self._untaken += len(piece.data)
        if self._untaken > self._high_water:
            self._writable.clear()
        self._client.readable()


def _from_outside(error: BaseException) -> bool:
    """Ctrl+C, or a cancellation of the serving task itself as the run ends: not the app's doing."""
    task = asyncio.current_task()
    cancelled = isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0
    return cancelled or isinstance(error, KeyboardInterrupt)
