"""The client of the driver: instants of reading, stalling and leaving, and what the app notices of them."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from minisgl_tutor.trace.asgi import AT_ONCE, AsgiClient, ClientEvent, Exchange, Reader
from minisgl_tutor.trace.clock import run

MS = 1000
START: Message = {"type": "http.response.start", "status": 200, "headers": [(b"X-Kind", b"test")]}


def now_us() -> int:
    return round(asyncio.get_running_loop().time() * 1e6)


class Producer:
    """An app that sends a chunk each `every_us`, and notes when each send returned or raised."""

    def __init__(self, count: int, size: int = 1, every_us: int = 10 * MS) -> None:
        self.count, self.size, self.every_us = count, size, every_us
        self.sent_us: list[int] = []
        self.raised: list[type[BaseException]] = []
        self.told_of_leave_us: int | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        listening = asyncio.ensure_future(self._listen(receive))
        await send(START)
        for _ in range(self.count):
            await asyncio.sleep(self.every_us / 1e6)
            try:
                await send({"type": "http.response.body", "body": bytes(self.size), "more_body": True})
            except OSError as error:
                self.raised.append(type(error))
            self.sent_us.append(now_us())
        try:
            await send({"type": "http.response.body", "body": b""})
        except OSError as error:
            self.raised.append(type(error))
        await listening

    async def _listen(self, receive: Receive) -> None:
        assert await receive() == {"type": "http.disconnect"}
        self.told_of_leave_us = now_us()


def play(
    app: ASGIApp,
    act: Callable[[Exchange], None] = lambda exchange: None,
    reader: Reader = AT_ONCE,
    **client: Any,
) -> Exchange:
    async def main() -> Exchange:
        exchange = AsgiClient(app, **client).request("GET", "/", reader=reader)
        act(exchange)
        await exchange.wait()
        await exchange.wait_app()
        await asyncio.sleep(10)  # for events that should not be
        return exchange

    return run(main)


def timeline(exchange: Exchange) -> list[tuple[int, str]]:
    return [(event.at_us // MS, event.kind) for event in exchange.events]


def test_a_transcript() -> None:
    exchange = play(Producer(2))
    assert exchange.events == [
        ClientEvent(0, "request", note="GET /"),
        ClientEvent(0, "status", note="200"),
        ClientEvent(10 * MS, "chunk", b"\0"),
        ClientEvent(20 * MS, "chunk", b"\0"),
        ClientEvent(20 * MS, "completed"),
        ClientEvent(20 * MS, "app returned"),
    ]
    assert (exchange.status, exchange.headers, exchange.body) == (200, {"x-kind": "test"}, b"\0\0")
    assert exchange.over and exchange.app_over and exchange.app_traceback == ""


def test_two_plays_are_the_same() -> None:
    reader = Reader(us_per_chunk=7, bytes_per_second=99_999, stalls_us=((20 * MS, 45 * MS),))
    assert play(Producer(30, 999), reader=reader).events == play(Producer(30, 999), reader=reader).events


def test_a_pace_by_the_chunk() -> None:
    exchange = play(Producer(3), reader=Reader(us_per_chunk=25 * MS))
    assert [ms for ms, kind in timeline(exchange) if kind == "chunk"] == [35, 60, 85]
    assert timeline(exchange)[-1] == (85, "completed")


def test_a_pace_by_the_byte() -> None:
    exchange = play(Producer(2, size=500), reader=Reader(bytes_per_second=10_000))
    assert [ms for ms, kind in timeline(exchange) if kind == "chunk"] == [60, 110]
    exchange = play(Producer(1, size=1), reader=Reader(bytes_per_second=3))  # a part of a microsecond is one
    assert [event.at_us for event in exchange.events if event.kind == "chunk"] == [10 * MS + 333_334]


def test_a_stall() -> None:
    # The chunk of 20 ms is being read as the stall begins, and is begun anew.
    exchange = play(Producer(3), reader=Reader(us_per_chunk=5 * MS, stalls_us=((21 * MS, 100 * MS),)))
    assert [ms for ms, kind in timeline(exchange) if kind == "chunk"] == [15, 105, 110]


def test_a_stall_from_the_start_delays_the_status() -> None:
    exchange = play(Producer(1), reader=Reader(stalls_us=((0, 50 * MS),)))
    assert timeline(exchange)[:2] == [(0, "request"), (10, "app returned")]
    assert [ms for ms, kind in timeline(exchange) if kind == "status"] == [50]


def test_send_waits_above_the_high_water_mark_until_a_quarter_is_left() -> None:
    # 100-byte chunks, a limit of 400: the fifth overflows it, so the sixth waits until one is left.
    app = Producer(7, size=100)
    play(app, reader=Reader(stalls_us=((0, 1000 * MS),), us_per_chunk=10 * MS), high_water=400)
    assert [us // MS for us in app.sent_us] == [10, 20, 30, 40, 50, 1040, 1050]


def test_the_default_buffer_is_of_64_kib() -> None:
    app = Producer(3, size=65536)
    play(app, reader=Reader(stalls_us=((0, 1000 * MS),)))
    assert [us // MS for us in app.sent_us] == [10, 20, 1000]


@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
def test_leaving_at_an_instant(spec_version: str) -> None:
    app = Producer(4)
    exchange = play(app, reader=Reader(leaves_at_us=25 * MS), spec_version=spec_version)
    assert app.told_of_leave_us == 25 * MS
    assert app.sent_us == [10 * MS, 20 * MS, 30 * MS, 40 * MS]
    assert app.raised == ([] if spec_version == "2.3" else [OSError] * 3)
    assert timeline(exchange) == [
        (0, "request"),
        (0, "status"),
        (10, "chunk"),
        (20, "chunk"),
        (25, "left"),
        (40, "app returned"),
    ]


def test_leaving_before_a_chunk() -> None:
    app = Producer(4)
    exchange = play(app, reader=Reader(leaves_before_chunk=2), spec_version="2.4")
    assert app.raised == [OSError] * 3
    assert timeline(exchange)[-3:] == [(20, "chunk"), (30, "left"), (40, "app returned")]


def test_leaving_before_anything() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert await receive() == {"type": "http.disconnect"}

    exchange = play(app, reader=Reader(leaves_at_us=0))
    assert timeline(exchange) == [(0, "request"), (0, "left"), (0, "app returned")]


@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
def test_leaving_frees_a_send_that_waits(spec_version: str) -> None:
    app = Producer(3, size=500)
    reader = Reader(stalls_us=((0, 1000 * MS),), leaves_at_us=70 * MS)
    play(app, reader=reader, high_water=400, spec_version=spec_version)
    assert app.sent_us == [10 * MS, 70 * MS, 80 * MS]
    assert app.raised == ([] if spec_version == "2.3" else [OSError] * 3)


def test_leaving_after_the_end_is_nothing() -> None:
    exchange = play(Producer(1), reader=Reader(leaves_at_us=500 * MS))
    assert timeline(exchange)[-2:] == [(10, "completed"), (10, "app returned")]
    exchange.leave()
    assert "left" not in [event.kind for event in exchange.events]


def test_a_finished_exchange_leaves_no_timer() -> None:
    async def main() -> int:
        reader = Reader(leaves_at_us=10**12, stalls_us=((10**12, 10**13),))
        await AsgiClient(Producer(1)).request("GET", "/", reader=reader).wait_app()
        return sum(not timer.cancelled() for timer in asyncio.get_running_loop()._scheduled)  # type: ignore[attr-defined]

    assert run(main) == 0


def test_an_answer_complete_but_unread_is_no_longer_the_apps() -> None:
    app = Producer(2)
    exchange = play(app, reader=Reader(us_per_chunk=30 * MS, leaves_at_us=50 * MS), spec_version="2.4")
    assert app.raised == []
    assert timeline(exchange)[-3:] == [(20, "app returned"), (40, "chunk"), (50, "left")]


def test_leaving_an_answer_that_is_complete_is_no_disconnect() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"all"})
        await asyncio.sleep(0.02)
        with pytest.raises(RuntimeError, match="after the end"):
            await send({"type": "http.response.body", "body": b"more"})

    exchange = play(app, reader=Reader(us_per_chunk=30 * MS, leaves_at_us=10 * MS), spec_version="2.4")
    assert timeline(exchange) == [(0, "request"), (0, "status"), (10, "left"), (20, "app returned")]


def test_a_late_failure_is_not_answered_for(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        raise ValueError("too late")

    exchange = play(app, reader=Reader(leaves_at_us=0), spec_version="2.4")
    assert timeline(exchange) == [(0, "request"), (0, "left"), (0, "app failed")]
    del exchange
    gc.collect()
    assert caplog.text == ""  # no exception of the serving task


def test_by_hand_and_watched() -> None:
    seen: list[str] = []

    def observe(exchange: Exchange, event: ClientEvent) -> None:
        seen.append(event.kind)
        if len(exchange.chunks) == 2:
            exchange.leave()

    def act(exchange: Exchange) -> None:
        exchange.stall()
        asyncio.get_running_loop().call_later(0.015, exchange.resume)

    exchange = play(Producer(5), act, observer=observe)
    assert timeline(exchange) == [
        (0, "request"),
        (15, "status"),
        (15, "chunk"),
        (20, "chunk"),
        (20, "left"),
        (50, "app returned"),
    ]
    assert seen == [event.kind for event in exchange.events]


def test_what_the_app_is_told_of_the_request() -> None:
    scopes: list[Scope] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        scopes.append(scope)

    async def main() -> None:
        client = AsgiClient(app, address=("127.0.0.1", 80))
        client.request("POST", "/a%20b?q=%20", headers={"Content-Type": "text/plain"}, body=b"four")
        await client.request("GET", "/").wait_app()
        assert [exchange.name for exchange in client.exchanges] == ["POST /a%20b?q=%20", "GET /"]

    run(main)
    assert scopes[0] == {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "server": ("127.0.0.1", 80),
        "client": ("127.0.0.1", 50_000),
        "scheme": "http",
        "method": "POST",
        "root_path": "",
        "path": "/a b",
        "raw_path": b"/a%20b",
        "query_string": b"q=%20",
        "headers": [(b"host", b"127.0.0.1:80"), (b"content-length", b"4"), (b"content-type", b"text/plain")],
        "state": {},
    }
    assert scopes[1]["client"] == ("127.0.0.1", 50_001)


@pytest.mark.parametrize("size", [0, 1, 65536, 65537, 200_000])
def test_a_large_request_comes_in_pieces(size: int) -> None:
    body = bytes(n % 251 for n in range(size))
    pieces: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while not pieces or pieces[-1]["more_body"]:
            pieces.append(await receive())

    async def main() -> None:
        await AsgiClient(app).request("POST", "/", body=body).wait_app()

    run(main)
    assert b"".join(piece["body"] for piece in pieces) == body
    assert len(pieces) == max(1, -(-size // 65536))


def test_what_an_app_raises_is_kept() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("no")

    exchange = play(app)
    assert exchange.app_traceback.endswith('in app\n    raise ValueError("no")\nValueError: no\n')
    assert [str(event.note) for event in exchange.events if event.kind == "app failed"] == ["ValueError: no"]
    assert (exchange.status, exchange.body) == (500, b"Internal Server Error")


def test_an_app_cut_off_by_the_end_of_the_run_did_not_fail() -> None:
    exchanges: list[Exchange] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        exchanges.append(AsgiClient(app).request("GET", "/"))
        await asyncio.sleep(1)

    run(main)
    assert [event.kind for event in exchanges[0].events] == ["request"]


@pytest.mark.parametrize(
    ("spec_version", "ends"),
    # Starlette listens for a disconnect below 2.4; from then on it waits for send() to raise.
    [("2.3", "cancelled at 25 ms"), ("2.4", "closed at 30 ms")],
)
def test_starlette_under_either_spec(spec_version: str, ends: str) -> None:
    ended: list[str] = []

    async def pieces() -> Any:
        try:
            while True:
                await asyncio.sleep(0.01)
                yield b"data"
        except asyncio.CancelledError:
            ended.append(f"cancelled at {now_us() // MS} ms")
            raise
        except GeneratorExit:
            ended.append(f"closed at {now_us() // MS} ms")
            raise

    async def route(request: Request) -> StreamingResponse:
        return StreamingResponse(pieces())

    app = Starlette(routes=[Route("/", route)])
    play(app, reader=Reader(leaves_at_us=25 * MS), spec_version=spec_version)
    assert ended == [ends]
