"""The response that carries a stream: what leaves in one write, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from minisgl_tutor.server.sse import EventStream, before_each_wait
from minisgl_tutor.trace.clock import run

SCOPE = {"type": "http", "asgi": {"spec_version": "2.3"}}


class Connection:
    """What a server shows an app. Nothing is taken while ``is_open`` is unset; a set ``leave`` is the end."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.is_open = asyncio.Event()
        self.is_open.set()
        self.leave = asyncio.Event()
        self.is_complete = False
        self.fails = False

    async def receive(self) -> dict[str, Any]:
        await self.leave.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        await self.is_open.wait()
        if self.fails:
            raise OSError("gone")
        if message["type"] == "http.response.body":
            if message["body"]:
                self.writes.append(message["body"])
            self.is_complete = not message["more_body"]


class Body:
    """A generator of chunks that arrive when they are fed, and of how it ended."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.news = asyncio.Event()
        self.ended_by: BaseException | None = None

    def feed(self, *chunks: bytes) -> None:
        self.chunks += chunks
        self.news.set()

    async def __call__(self) -> AsyncGenerator[bytes, None]:
        try:
            while True:
                await self.news.wait()
                self.news.clear()
                while self.chunks:
                    chunk = self.chunks.pop(0)
                    yield chunk
                    if chunk == b"end":
                        return
        except BaseException as error:
            self.ended_by = error
            raise


async def turns() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def serve(body: Body, connection: Connection) -> asyncio.Task[None]:
    return asyncio.create_task(EventStream(body())(SCOPE, connection.receive, connection.send))


def test_what_comes_without_a_wait_leaves_in_one_write() -> None:
    async def main() -> None:
        body, connection = Body(), Connection()
        serving = serve(body, connection)
        for chunks in ([b"a"], [b"b"], [b"c", b"d", b"e"], [b"f", b"end"]):
            body.feed(*chunks)
            await turns()
        await serving
        assert connection.writes == [b"a", b"b", b"cde", b"fend"] and connection.is_complete

    run(main)


def test_what_comes_while_a_client_does_not_read_leaves_in_one_write_when_it_does() -> None:
    async def main() -> None:
        body, connection = Body(), Connection()
        serving = serve(body, connection)
        body.feed(b"a")
        await turns()
        connection.is_open.clear()
        for chunk in (b"b", b"c", b"d"):
            body.feed(chunk)
            await turns()
        assert connection.writes == [b"a"]
        connection.is_open.set()
        await turns()
        assert connection.writes == [b"a", b"b", b"cd"]
        body.feed(b"end")
        await serving

    run(main)


@pytest.mark.parametrize("reads", [True, False])
def test_a_client_that_leaves_cancels_the_generator(reads: bool) -> None:
    """While the generator waits, and while a write does."""

    async def main() -> None:
        body, connection = Body(), Connection()
        serving = serve(body, connection)
        body.feed(b"a")
        await turns()
        if not reads:
            connection.is_open.clear()
            body.feed(b"b")
            await turns()
        connection.leave.set()
        await serving
        assert isinstance(body.ended_by, asyncio.CancelledError)
        assert connection.writes == [b"a"] and not connection.is_complete

    run(main)


def test_a_write_that_fails_ends_the_generator() -> None:
    """As newer servers tell of a client that left."""

    async def main() -> None:
        body, connection = Body(), Connection()
        serving = serve(body, connection)
        body.feed(b"a")
        await turns()
        connection.fails = True
        body.feed(b"b")
        await serving
        assert isinstance(body.ended_by, OSError)
        assert connection.writes == [b"a"] and not connection.is_complete

    run(main)


def test_before_each_wait_gives_the_result_and_what_was_raised() -> None:
    async def main() -> None:
        order: list[str] = []

        async def prepare() -> None:
            order.append("prepared")

        async def work(error: Exception | None) -> str:
            order.append("works")
            await asyncio.sleep(0)
            order.append("works on")
            if error is not None:
                raise error
            return "result"

        assert await before_each_wait(prepare, work(None)) == "result"
        assert order == ["works", "prepared", "works on"]
        with pytest.raises(ValueError, match="wrong"):
            await before_each_wait(prepare, work(ValueError("wrong")))

    run(main)
