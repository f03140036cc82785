"""The same apps and clients on real uvicorn and on the driver: apps must see, and clients get, the same.

Nothing sleeps: a client acts when it has read so much, or when the app tells it to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

import pytest
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse
from starlette.background import BackgroundTask
from starlette.types import ASGIApp, Message, Receive, Scope, Send

Case = Any
"""What an app notes down what it saw in; see the folder's conftest."""

Behaviour = str | int

START: Message = {"type": "http.response.start", "status": 200, "headers": []}
END: Message = {"type": "http.response.body", "body": b"", "more_body": False}


def piece(body: bytes, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


def start(length: int, status: int = 200) -> Message:
    return {
        "type": "http.response.start",
        "status": status,
        "headers": [(b"content-length", str(length).encode())],
    }


def sends(*messages: Message) -> Callable[[Case], ASGIApp]:
    """An app that only sends, and never asks for the request."""

    def make(case: Case) -> ASGIApp:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            for message in messages:
                await send(message)

        return app

    return make


def raises(*messages: Message) -> Callable[[Case], ASGIApp]:
    def make(case: Case) -> ASGIApp:
        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await sends(*messages)(case)(scope, receive, send)
            raise ValueError("the app's own")

        return app

    return make


def cancels_itself(case: Case) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise asyncio.CancelledError

    return app


def asks_after_the_end(case: Case) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        await send(piece(b"all", more=False))
        await receive()
        await receive()

    return app


def asks_while_sending(case: Case) -> ASGIApp:
    """Another task waits in receive() when the response ends."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        asking = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        await send(START)
        await send(END)
        await asking

    return app


def fails_while_asking(case: Case) -> ASGIApp:
    """Another task waits in receive() when the server closes."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        case.strays.append(asyncio.ensure_future(receive()))
        await asyncio.sleep(0)
        await send(START)
        raise ValueError("the app's own")

    return app


def goes_on_after_a_leave(case: Case) -> ASGIApp:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send(START)
        await send(piece(b"one"))
        await receive()
        await receive()
        await send(piece(b"two"))
        await send(END)
        await send({"type": "nonsense"})

    return app


def leaves_unasked(case: Case) -> ASGIApp:
    """The client leaves before the request is read, which is then lost."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        waiting = asyncio.ensure_future(receive())
        await waiting
        case.tell()
        await receive()
        await send(START)

    return app


def looks_for_a_leave(case: Case) -> ASGIApp:
    app = FastAPI()

    @app.post("/path")
    async def route(request: Request) -> dict[str, bool]:
        case.seen.append(f"body {await request.body()!r}")
        before = await request.is_disconnected()
        case.tell()
        await request.receive()
        return {"before": before, "after": await request.is_disconnected()}

    return app


def blocks(case: Case) -> ASGIApp:
    """Sends until send() waits; a send that need not wait never yields."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        while True:
            sending = asyncio.ensure_future(send(piece(bytes(1 << 20))))
            await asyncio.sleep(0)
            if not sending.done():
                break
        case.seen[:] = ["blocked"]
        case.tell()
        await sending
        await send(END)

    return app


def json_route(case: Case) -> ASGIApp:
    app = FastAPI()

    @app.post("/path")
    async def route(request: Request, x: int) -> dict[str, Any]:
        return {"x": x, "body": await request.json()}

    return app


def failing_route(case: Case) -> ASGIApp:
    app = FastAPI()

    @app.get("/path")
    async def route() -> None:
        raise ValueError("the route's own")

    return app


def streams(count: int, then: Literal["ends", "waits", "fails"]) -> Callable[[Case], ASGIApp]:
    """A Starlette streaming response with a background task, under FastAPI."""

    def make(case: Case) -> ASGIApp:
        app = FastAPI()

        async def pieces() -> AsyncIterator[bytes]:
            for n in range(count):
                yield b"data: %d\n\n" % n
            if then == "fails":
                raise ValueError("the stream's own")
            if then == "waits":
                case.tell()
                await case.note("stream", asyncio.Event().wait())

        async def background() -> None:
            case.seen.append("background ran")

        @app.post("/path")
        async def route(request: Request) -> StreamingResponse:
            await request.body()
            return StreamingResponse(pieces(), background=BackgroundTask(background))

        return app

    return make


CASES: dict[str, tuple[Callable[[Case], ASGIApp], str, bytes, Behaviour]] = {
    "plain JSON": (json_route, "POST", b'{"a": 1}', "reads all"),
    "no such method": (json_route, "GET", b"", "reads all"),
    "a streamed answer": (streams(3, "ends"), "POST", b"{}", "reads all"),
    "a streamed answer of no chunk": (streams(0, "ends"), "POST", b"", "reads all"),
    "leaves in mid-stream": (streams(2, "waits"), "POST", b"{}", 2),
    "leaves before the first chunk": (streams(0, "waits"), "POST", b"{}", "leaves when told"),
    "leaves with chunks unread": (streams(3, "waits"), "POST", b"{}", "leaves when told"),
    "the stream fails": (streams(2, "fails"), "POST", b"{}", "reads all"),
    "the stream fails at once": (streams(0, "fails"), "POST", b"{}", "reads all"),
    "the route fails": (failing_route, "GET", b"", "reads all"),
    "the app fails": (raises(), "GET", b"", "reads all"),
    "the app fails when started": (raises(START), "GET", b"", "reads all"),
    "the app fails in mid-stream": (raises(START, piece(b"one")), "GET", b"", "reads all"),
    "the app fails after the end": (raises(START, piece(b"one", False)), "GET", b"", "reads all"),
    "the app cancels itself": (cancels_itself, "GET", b"", "reads all"),
    "the app does nothing": (sends(), "POST", b"unread", "reads all"),
    "the app stops after the start": (sends(START), "GET", b"", "reads all"),
    "the app stops in mid-stream": (sends(START, piece(b"one")), "GET", b"", "reads all"),
    "the request is not read": (sends(START, piece(b"one"), END), "POST", b"unread", "reads all"),
    "empty pieces": (sends(START, piece(b""), piece(b"one"), piece(b""), END), "GET", b"", "reads all"),
    "longer than declared": (sends(start(4), piece(b"one"), piece(b"two"), END), "GET", b"", "reads all"),
    "shorter than declared": (sends(start(4), piece(b"one"), END), "GET", b"", "reads all"),
    "as declared": (sends(start(6), piece(b"one"), piece(b"two"), END), "GET", b"", "reads all"),
    "fails after all that was declared": (raises(start(3), piece(b"one")), "GET", b"", "reads all"),
    "HEAD, then fails": (raises(start(3), piece(b"one")), "HEAD", b"", "reads all"),
    "HEAD": (sends(start(3), piece(b"one", False)), "HEAD", b"", "reads all"),
    "204 with a body": (sends(start(3, 204), piece(b"one", False)), "GET", b"", "reads all"),
    "304 with a length": (sends(start(3, 304), END), "GET", b"", "reads all"),
    "no start": (sends(piece(b"one")), "GET", b"", "reads all"),
    "two starts": (sends(START, START), "GET", b"", "reads all"),
    "too many ends": (sends(START, END, END), "GET", b"", "reads all"),
    "asks after the end": (asks_after_the_end, "POST", b"body", "reads all"),
    "asks while sending": (asks_while_sending, "POST", b"body", "reads all"),
    "fails while asking": (fails_while_asking, "POST", b"body", "reads all"),
    "goes on after a leave": (goes_on_after_a_leave, "POST", b"body", 1),
    "leaves before the start": (leaves_unasked, "POST", b"body", "leaves when told"),
    "looks for a leave": (looks_for_a_leave, "POST", b"body", "leaves when told"),
    "blocked, then leaves": (blocks, "GET", b"", "leaves when told"),
    "blocked, then reads": (blocks, "GET", b"", "reads when told"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_driver_is_as_uvicorn(both_sides: Callable[..., Any], name: str) -> None:
    (expected, seen), (got, seen_here) = both_sides(*CASES[name])
    assert seen_here == seen
    if CASES[name][0] is blocks:  # how much fits in depends on the system's socket buffers
        expected, got = expected._replace(chunks=[]), got._replace(chunks=[])
    assert got == expected
