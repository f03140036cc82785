"""The bodies of all requests together have a bound, from their first byte to the end of their answers."""

from __future__ import annotations

import asyncio
import json

import pytest
from starlette.types import Receive, Scope, Send

from minisgl_tutor.message import UserReply
from minisgl_tutor.server.api_server import create_app
from minisgl_tutor.server.config import Limits
from minisgl_tutor.server.limits.bodies import ALWAYS_TAKEN_BYTES, Bodies
from minisgl_tutor.trace.asgi import AsgiClient
from minisgl_tutor.trace.clock import run

LIMIT = 300_000
LIMITS = Limits(max_bodies_bytes=LIMIT)
KIND = {"content-type": "application/json"}


def prompt(size: int) -> bytes:
    return json.dumps({"model": "m", "prompt": "x" * size}).encode()


class HalfABody:
    """A client of whose body ``size`` bytes have come, and nothing since."""

    scope = {  # noqa: RUF012
        "type": "http",
        "method": "POST",
        "path": "/v1/completions",
        "headers": [],
        "query_string": b"",
    }

    def __init__(self, size: int, announced: bytes | None = None) -> None:
        if announced is not None:
            self.scope = {**self.scope, "headers": [(b"content-length", announced)]}
        self.gone = asyncio.Event()
        self._left = size

    async def receive(self) -> dict[str, object]:
        if self._left:
            size, self._left = self._left, 0
            return {"type": "http.request", "body": b"x" * size, "more_body": True}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: object) -> None:
        raise AssertionError(message)


def test_no_room_for_a_large_body_until_another_is_gone(rig) -> None:
    async def main() -> None:
        it = rig()
        bodies = Bodies(create_app(it.state, "m"), LIMITS)
        client, slow = AsgiClient(bodies), HalfABody(250_000)
        reading = asyncio.create_task(bodies(dict(slow.scope), slow.receive, slow.send))
        await asyncio.sleep(1)
        assert bodies.held == 250_000
        large = client.request("POST", "/v1/completions", headers=KIND, body=prompt(100_000))
        await large.wait_app()
        assert (large.status, large.headers["retry-after"]) == (503, "1")
        assert json.loads(large.body)["error"]["code"] == "too_many_bytes"
        assert (bodies.held, bodies.refused) == (250_000, 1)
        assert it.sent() == [] and it.state.held() == {}

        slow.gone.set()
        await reading
        assert bodies.held == 0
        again = client.request("POST", "/v1/completions", headers=KIND, body=prompt(100_000))
        await asyncio.sleep(1)
        assert len(it.sent()) == 1
        assert bodies.held > 100_000, "it is kept while its answer is made"
        it.feed(UserReply(0, "a", True, "length"))
        await again.wait_app()
        assert (again.status, bodies.held, bodies.refused) == (200, 0, 1)

    run(main)


def test_a_large_body_gets_the_room_that_it_announces_and_no_more_than_one_body_may_have(rig) -> None:
    async def main() -> None:
        bodies = Bodies(create_app(rig().state, "m"), Limits(max_bodies_bytes=LIMIT, max_body_bytes=200_000))
        for size, announced, room in (
            (ALWAYS_TAKEN_BYTES, b"150000", ALWAYS_TAKEN_BYTES),
            (70_000, b"150000", 150_000),
            (70_000, b"9" * 5000, 200_000),
            (70_000, b"-1", 70_000),
            (70_000, b"10", 70_000),
        ):
            slow = HalfABody(size, announced)
            reading = asyncio.create_task(bodies(dict(slow.scope), slow.receive, slow.send))
            await asyncio.sleep(1)
            assert bodies.held == room
            slow.gone.set()
            await reading
            assert bodies.held == 0

    run(main)


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_small_bodies_are_taken_when_large_ones_have_all_the_room(rig, method: str) -> None:
    async def main() -> None:
        bodies = Bodies(create_app(rig().state, "m"), LIMITS)
        client, slow = AsgiClient(bodies), HalfABody(LIMIT)
        reading = asyncio.create_task(bodies(dict(slow.scope), slow.receive, slow.send))
        await asyncio.sleep(1)
        edge = [client.request(method, "/health", body=b"x" * size) for size in (ALWAYS_TAKEN_BYTES, 65_537)]
        for each in edge:
            await each.wait_app()
        assert [each.status for each in edge] == [200 if method == "GET" else 405, 503]
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        assert bodies.held == 0

    run(main)


def test_an_app_that_fails_makes_room_again(rig) -> None:
    async def fails(scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        raise RuntimeError

    async def main() -> None:
        bodies = Bodies(fails, LIMITS)
        await AsgiClient(bodies).request("POST", "/", body=b"x" * 1000).wait_app()
        assert bodies.held == 0

    run(main)
