"""The client's HTTP against a socket that says what a test tells it to."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from minisgl_tutor.bench.answer import RequestFailed
from minisgl_tutor.bench.http import HttpTransport, base_url

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"


@asynccontextmanager
async def saying(reply: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """A server that answers each connection with ``reply`` and ends it. Gives its address and what it got."""
    got: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        got.append(head + await reader.readexactly(int(length or 0)))
        writer.write(reply)
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", got


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)


async def body_of(reply: bytes) -> bytes:
    async with saying(reply) as (url, _), HttpTransport(url) as transport:
        return b"".join([piece async for piece in transport.post("/v1/completions", b"{}")])


async def test_a_body_comes_as_it_was_sent() -> None:
    sent = HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"data: a\n", b"\n") + b"0\r\n\r\n"
    assert await body_of(sent) == b"data: a\n\n"
    assert await body_of(HEAD + b"Content-Length: 3\r\n\r\nabc") == b"abc"
    assert await body_of(HEAD + b"\r\nabc") == b"abc"


async def test_the_key_and_the_path_arrive() -> None:
    reply = HEAD + b"Content-Length: 0\r\n\r\n"
    async with saying(reply) as (url, got), HttpTransport(f"{url}/v1/", "secret") as transport:
        assert [piece async for piece in transport.post("/v1/completions", b'{"a":1}')] == []
    (request,) = got
    assert request.startswith(b"POST /v1/completions HTTP/1.1\r\n")
    assert b"\r\nAuthorization: Bearer secret\r\n" in request
    assert request.endswith(b'\r\n\r\n{"a":1}')


@pytest.mark.parametrize(
    "reply, kind, message",
    [
        (
            b"HTTP/1.1 429 Slow\r\nContent-Length: 28\r\n\r\n" + b'{"error":{"message":"slow"}}',
            "HTTP 429",
            "slow",
        ),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(b"data: a\n\n"), "disconnected", ""),
        (HEAD + b"Content-Length: 9\r\n\r\nabc", "disconnected", ""),
        (b"", "disconnected", ""),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not HTTP", ""),
    ],
)
async def test_what_goes_wrong_has_a_kind(reply: bytes, kind: str, message: str) -> None:
    with pytest.raises(RequestFailed) as failed:
        await body_of(reply)
    assert failed.value.kind == kind
    assert message in str(failed.value)


async def test_no_server_is_no_connection() -> None:
    async with saying(b"") as (url, _):
        pass
    async with HttpTransport(url) as transport:
        with pytest.raises(RequestFailed) as failed:
            await transport.model()
    assert failed.value.kind == "no connection"
    assert str(failed.value) == os.strerror(errno.ECONNREFUSED)


@pytest.mark.parametrize(
    "body, check",
    [
        (b'{"data": [{"id": "tiny"}]}', None),
        (b"{}", "not the OpenAI protocol"),
        (b"hello", "not the OpenAI protocol"),
    ],
)
async def test_a_server_names_its_model(body: bytes, check: str | None) -> None:
    reply = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body
    async with saying(reply) as (url, _), HttpTransport(url) as transport:
        if check is None:
            assert await transport.model() == "tiny"
            return
        with pytest.raises(RequestFailed) as failed:
            await transport.model()
    assert failed.value.kind == check


@pytest.mark.parametrize("given", ["http://h:1", "http://h:1/", "http://h:1/v1", "http://h:1/v1/"])
def test_an_address_may_end_in_v1(given: str) -> None:
    assert base_url(given) == "http://h:1"


@pytest.mark.parametrize("given", ["", "h:1", "ftp://h", "http://", "http://h:x", "http://h?a=1"])
def test_what_is_no_address(given: str) -> None:
    with pytest.raises(ValueError):
        base_url(given)
