"""Request ids, the log line of a request, and the API key."""

from __future__ import annotations

import asyncio
import logging
import re

import pytest
from starlette.types import Receive, Scope, Send

from minisgl_tutor.server.limits.access import ApiKey, RequestLog
from minisgl_tutor.trace.asgi import AsgiClient, Exchange, Reader
from minisgl_tutor.trace.clock import run


async def three_chunks(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(3):
        await asyncio.sleep(1)
        await send({"type": "http.response.body", "body": b"1234", "more_body": True})
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def asked(app, *, headers: dict[str, str] | None = None, path: str = "/x", **more) -> Exchange:
    async def main() -> Exchange:
        exchange = AsgiClient(app).request("POST", path, headers=headers or {}, **more)
        await asyncio.sleep(10)
        return exchange

    return run(main)


def logged(app) -> RequestLog:
    return RequestLog(app, lambda: asyncio.get_running_loop().time())


@pytest.mark.parametrize(
    "error",
    [
        OSError("gone"),
        RuntimeError("unable to perform operation on <TCPTransport closed=True>; the handler is closed"),
    ],
)
def test_a_client_that_is_gone_is_no_failure_whatever_the_loop_calls_it(error: Exception) -> None:
    async def send(message) -> None:
        raise error

    seen: list[BaseException] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        except OSError as raised:
            seen.append(raised)
            raise

    scope = {"type": "http", "method": "GET", "raw_path": b"/", "headers": []}
    run(lambda: logged(app)(scope, None, send))
    assert len(seen) == 1


def test_a_failure_of_the_app_itself_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        raise OSError("its own disk is full")

    scope = {"type": "http", "method": "GET", "raw_path": b"/", "headers": []}
    with pytest.raises(OSError, match="disk"):
        run(lambda: logged(app)(scope, None, None))


@pytest.mark.parametrize("given", ["trace-42", "a" * 128, "A.b:c/d+e=f@g_h"])
def test_the_id_of_a_client_is_kept(given: str) -> None:
    assert asked(logged(three_chunks), headers={"X-Request-Id": given}).headers["x-request-id"] == given


@pytest.mark.parametrize("given", ["", "a" * 129, "two words", "a\tb", "é"])
def test_an_id_that_would_spoil_the_log_is_replaced(given: str) -> None:
    got = asked(logged(three_chunks), headers={"X-Request-Id": given}).headers["x-request-id"]
    assert re.fullmatch("req_[0-9a-f]{32}", got)


def test_one_line_a_request_and_none_a_chunk(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "minisgl_tutor")
    asked(logged(three_chunks), headers={"X-Request-Id": "me"}, path="/a%0Ab?c=d")
    assert [record.getMessage() for record in caplog.records] == [
        "POST /a%0Ab 200 in 3.000 s, 12 bytes, from 127.0.0.1, request me"
    ]


def test_a_poll_that_found_all_well_is_no_news(caplog: pytest.LogCaptureFixture) -> None:
    async def ill(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 503, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    caplog.set_level(logging.DEBUG, "minisgl_tutor")
    for app in (three_chunks, ill):
        asked(logged(app), path="/health")
    assert [record.levelno for record in caplog.records] == [logging.DEBUG, logging.INFO]


def test_a_client_that_left_and_an_app_that_failed_have_a_line_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "minisgl_tutor")

    async def gives_up(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise OSError("gone")

    async def silent(scope: Scope, receive: Receive, send: Send) -> None:
        pass

    asked(logged(gives_up))
    asked(logged(silent), reader=Reader(leaves_at_us=1))
    first, second = [record.getMessage() for record in caplog.records]
    assert "200 cut short" in first and "without an answer" in second


@pytest.mark.parametrize(
    "given", [None, "", "sk-1", "Bearer", "Bearer sk-", "Bearer sk-12", "bearer sk-1", "Bearer é"]
)
def test_without_the_key_there_is_a_401_in_the_envelope(given: str | None) -> None:
    exchange = asked(ApiKey(three_chunks, "sk-1"), headers={} if given is None else {"Authorization": given})
    assert exchange.status == 401
    assert exchange.headers["www-authenticate"] == "Bearer"
    assert b'"code":"invalid_api_key"' in exchange.body


def test_with_the_key_or_for_health_the_app_is_asked() -> None:
    assert asked(ApiKey(three_chunks, "sk-1"), headers={"Authorization": "Bearer sk-1"}).status == 200
    assert asked(ApiKey(three_chunks, "sk-1"), path="/health").status == 200
    assert asked(ApiKey(three_chunks, "sk-1"), path="/health/x").status == 401
