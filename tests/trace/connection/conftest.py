"""Two sides for one app and one client: real uvicorn, and the driver."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal, NamedTuple

import h11
import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minisgl_tutor.trace.asgi import AsgiClient, ClientEvent, Exchange
from minisgl_tutor.trace.clock import run

PATIENCE = 20  # seconds until a hung test fails


class Answer(NamedTuple):
    """What a client got. A body of declared length is one chunk: it is sent without its pieces' bounds."""

    status: int | None
    chunks: list[bytes]
    end: str


@dataclass
class Case:
    """An app under observation. `seen`: what it saw. `tell`: makes the client act that waits for it.

    `strays` are tasks that may outlast the app.
    """

    seen: list[str] = field(default_factory=list)
    tell: Callable[[], object] = lambda: None
    strays: list[asyncio.Future[Any]] = field(default_factory=list)

    def watch(self, app: ASGIApp) -> ASGIApp:
        """`app`, with a note of each message, how each send ended, and how the app ended."""

        async def watched(scope: Scope, receive: Receive, send: Send) -> None:
            async def noted_receive() -> Message:
                message = await self.note("receive", receive())
                self.seen.append(f"got {sorted(message.items())}")
                return message  # type: ignore[no-any-return]

            async def noted_send(message: Message) -> None:
                self.seen.append(f"send {message['type']} {message.get('body')!r:.40}")
                await self.note("send", send(message))

            await self.note("app", app(scope, noted_receive, noted_send))

        return watched

    async def note(self, name: str, awaitable: Any) -> Any:
        try:
            result = await awaitable
        except asyncio.CancelledError:
            self.seen.append(f"{name} was cancelled")
            raise
        except Exception:
            self.seen.append(f"{name} raised")
            raise
        self.seen.append(f"{name} returned")
        return result


Behaviour = Literal["reads all", "leaves when told", "reads when told"] | int
"""An int: reads so many chunks and leaves. Before being told nothing is read."""


class Uvicorn:
    """A real server in a thread of its own; `app` is what it serves."""

    def __init__(self) -> None:
        self.app: ASGIApp
        listening = socket.create_server(("127.0.0.1", 0))
        self.address = listening.getsockname()
        config = uvicorn.Config(
            self._dispatch,
            interface="asgi3",
            http="h11",  # with httptools only answers of status 204 and 304 that have a body are unlike these
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],))
        self._thread.start()

    async def _dispatch(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)

    def stop(self) -> None:
        self._server.should_exit = True
        self._thread.join()


@pytest.fixture(scope="module")
def _server() -> Iterator[Uvicorn]:
    server = Uvicorn()
    yield server
    server.stop()


def on_uvicorn(
    server: Uvicorn, make: Callable[[Case], ASGIApp], method: str, body: bytes, behaviour: Behaviour
) -> tuple[Answer, list[str]]:
    case, told, over = Case(), threading.Event(), threading.Event()
    case.tell = told.set
    app = case.watch(make(case))

    async def app_then_over(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await app(scope, receive, send)
        finally:
            strays = asyncio.gather(*case.strays)
            strays.add_done_callback(lambda _: over.set())

    server.app = app_then_over
    with socket.create_connection(server.address, timeout=PATIENCE) as connection:
        answer = talk(connection, method, body, behaviour, told)
    assert over.wait(PATIENCE)
    return answer, case.seen


def talk(
    connection: socket.socket, method: str, body: bytes, behaviour: Behaviour, told: threading.Event
) -> Answer:
    http = h11.Connection(h11.CLIENT)
    headers = [("host", "test")] + ([("content-length", str(len(body)))] if body else [])
    request = http.send(h11.Request(method=method, target="/path?x=1", headers=headers))
    connection.sendall(request + (http.send(h11.Data(body)) if body else b"") + http.send(h11.EndOfMessage()))
    if isinstance(behaviour, str) and behaviour.endswith("told"):
        assert told.wait(PATIENCE)
    status: int | None = None
    chunks: list[bytes] = []
    begun = b""
    end = "left"
    while behaviour not in ("leaves when told", len(chunks)):
        try:
            event = http.next_event()
        except h11.RemoteProtocolError:
            end = "truncated"
            break
        if event is h11.NEED_DATA:
            http.receive_data(connection.recv(65536))
        elif isinstance(event, h11.Response):
            status = event.status_code
        elif isinstance(event, h11.Data):
            begun += event.data
            if event.chunk_end:
                chunks.append(begun)
                begun = b""
        elif isinstance(event, h11.EndOfMessage):
            end = "completed"
            break
    return Answer(status, chunks + ([begun] if begun else []), end)


def on_driver(
    make: Callable[[Case], ASGIApp], method: str, body: bytes, behaviour: Behaviour, spec: str = "2.3"
) -> tuple[Answer, list[str]]:
    def act(exchange: Exchange, event: ClientEvent) -> None:
        if event.kind == "chunk" and len(exchange.chunks) == behaviour:
            exchange.leave()

    async def main() -> tuple[Answer, list[str]]:
        case = Case()
        client = AsgiClient(case.watch(make(case)), spec_version=spec, observer=act)
        exchange = client.request(method, "/path?x=1", headers={"host": "test"}, body=body)
        if isinstance(behaviour, str) and behaviour.endswith("told"):
            exchange.stall()
            action = exchange.leave if behaviour.startswith("leaves") else exchange.resume
            case.tell = partial(asyncio.get_running_loop().call_soon, action)
        await exchange.wait()
        await exchange.wait_app()
        await asyncio.gather(*case.strays)
        (end,) = (e.kind for e in exchange.events if e.kind in ("completed", "truncated", "left"))
        chunks = exchange.chunks
        if chunks and "content-length" in exchange.headers:
            chunks = [exchange.body]
        return Answer(exchange.status, chunks, end), case.seen

    return run(main)


@pytest.fixture
def both_sides(_server: Uvicorn) -> Callable[..., tuple[tuple[Answer, list[str]], tuple[Answer, list[str]]]]:
    """Plays a case on uvicorn and on the driver: what the client got and what the app saw, on each."""
    return lambda *case: (on_uvicorn(_server, *case), on_driver(*case))
