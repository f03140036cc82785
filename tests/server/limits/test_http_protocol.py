"""What a client may do to a connection, by the bytes. uvicorn's own protocol fails most of these."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from minisgl_tutor.server.limits.http_protocol import HTTP_PROTOCOL, MOST_AHEAD, MOST_HEAD_BYTES

pytest.importorskip("httptools")

BODY = b'{"model": "m"}'
POST = b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n" % len(BODY)
REQUEST = POST + b"\r\n" + BODY
GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"


class Wire(asyncio.Transport):
    """What the server sent to its client, and whether it ended the connection."""

    def __init__(self) -> None:
        super().__init__()
        self.sent = b""
        self.reads = True
        self.ended = False

    def write(self, data: Any) -> None:
        self.sent += data

    def close(self) -> None:
        self.ended = True

    def is_closing(self) -> bool:
        return self.ended

    def pause_reading(self) -> None:
        self.reads = False

    def resume_reading(self) -> None:
        self.reads = True


class App:
    """Reads a request, and answers it unless it is to wait until its client has gone."""

    def __init__(self, waits: bool = False) -> None:
        self.bodies: list[bytes] = []
        self.left = 0
        self._waits = waits

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message["body"], message["more_body"]
        self.bodies.append(body)
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if self._waits:
            assert (await receive())["type"] == "http.disconnect"
            self.left += 1
            return
        await send({"type": "http.response.body", "body": b"ok"})


async def settle() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def connect(app: App) -> tuple[Any, Wire]:
    config = uvicorn.Config(app, http=HTTP_PROTOCOL, log_config=None, access_log=False, lifespan="off")
    config.load()
    protocol: Any = HTTP_PROTOCOL(config=config, server_state=ServerState(), app_state={})  # type: ignore[call-arg]
    wire = Wire()
    protocol.connection_made(wire)
    return protocol, wire


@pytest.mark.parametrize("behind", [0, 1, 3])
async def test_every_request_of_a_client_hears_that_it_left(
    behind: int, caplog: pytest.LogCaptureFixture
) -> None:
    app = App(waits=True)
    protocol, wire = connect(app)
    protocol.data_received(REQUEST * (1 + behind))
    await settle()
    assert len(app.bodies) == 1 and wire.reads, "else nobody sees it leave"
    with caplog.at_level(logging.WARNING):
        protocol.connection_lost(None)
        await settle()
    assert app.left == 1 and not caplog.records


async def test_no_more_is_read_of_a_client_that_is_far_ahead() -> None:
    protocol, wire = connect(App(waits=True))
    protocol.data_received(REQUEST)
    await settle()
    for _ in range(MOST_AHEAD + 1):
        protocol.data_received(REQUEST)
    assert not wire.reads


# As the client of Java's standard library makes it, with every request to a plain address.
OFFER = (
    POST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n" + BODY
)


async def test_an_offer_to_switch_protocols_is_ignored_wherever_its_bytes_are_split(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        for cut in range(len(OFFER)):
            app = App()
            protocol, wire = connect(app)
            for piece in (OFFER[:cut], OFFER[cut:]):
                protocol.data_received(piece)
            await settle()
            assert app.bodies == [BODY] and wire.sent.count(b"200 OK") == 1, OFFER[:cut]
    assert not caplog.records


async def test_so_are_those_of_several_requests_on_one_connection() -> None:
    app = App()
    protocol, wire = connect(app)
    protocol.data_received(OFFER * 2)
    await settle()
    protocol.data_received(OFFER)
    await settle()
    assert app.bodies == [BODY] * 3 and wire.sent.count(b"200 OK") == 3


async def test_a_client_that_takes_this_for_a_proxy_is_refused() -> None:
    app = App()
    protocol, wire = connect(app)
    protocol.data_received(b"CONNECT / HTTP/1.1\r\nHost: x\r\n\r\n")
    await settle()
    assert wire.ended and wire.sent.startswith(b"HTTP/1.1 405 ") and app.bodies == []


async def test_what_a_body_says_of_upgrades_is_left_alone() -> None:
    app = App()
    protocol, _ = connect(app)
    body = b"a\r\nupgrade: b" * 2
    protocol.data_received(POST.replace(b"%d" % len(BODY), b"%d" % len(body)) + b"\r\n" + body[:3])
    protocol.data_received(body[3:])
    await settle()
    assert app.bodies == [body]


async def test_headers_without_an_end_are_refused() -> None:
    app = App()
    protocol, wire = connect(app)
    protocol.data_received(GET.removesuffix(b"\r\n") + b"X: ")
    for _ in range(MOST_HEAD_BYTES // 1024):
        assert not wire.ended
        protocol.data_received(b"a" * 1024)
    assert wire.ended and wire.sent.startswith(b"HTTP/1.1 431 ")
    assert json.loads(wire.sent.partition(b"\r\n\r\n")[2])["error"]["code"] == "headers_too_large"
    assert wire.sent.endswith(b"}") and app.bodies == []


@pytest.mark.parametrize(
    "sent", [b"\x16\x03\x01\x02", b"GET / HTTP/1.1\r\nno colon\r\n\r\n", b"GET \x1b HTTP/1.1\r\n"]
)
async def test_what_is_no_http_gets_the_envelope_of_all_errors(sent: bytes) -> None:
    protocol, wire = connect(App())
    protocol.data_received(sent)
    assert wire.ended and wire.sent.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert json.loads(wire.sent.partition(b"\r\n\r\n")[2])["error"]["code"] == "invalid_http"


async def test_a_refusal_does_not_get_into_an_answer_that_has_begun() -> None:
    protocol, wire = connect(App(waits=True))
    protocol.data_received(REQUEST)
    await settle()
    before = wire.sent
    protocol.data_received(b"\x16\x03\x01\x02")
    assert wire.ended and before.startswith(b"HTTP/1.1 200") and wire.sent == before


async def test_so_are_headers_without_an_end_behind_a_body() -> None:
    protocol, wire = connect(App(waits=True))
    protocol.data_received(POST.partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n0\r\n")
    for number in range(MOST_HEAD_BYTES // 1000 + 1):
        protocol.data_received(b"X%d: %b\r\n" % (number, b"a" * 1000))
    assert wire.ended


async def test_neither_a_large_body_nor_many_requests_are_large_headers() -> None:
    app = App()
    protocol, wire = connect(app)
    size = 3 * MOST_HEAD_BYTES
    protocol.data_received(POST.replace(b"%d" % len(BODY), b"%d" % size) + b"\r\n")
    for _ in range(size // 4096):
        protocol.data_received(b"a" * 4096)
        await settle()
    for _ in range(20):
        protocol.data_received(GET.replace(b"Host: x", b"Host: " + b"x" * 8192))
        await settle()
    assert not wire.ended and len(app.bodies[0]) == size
    assert wire.sent.count(b"200 OK") == len(app.bodies) == 21
