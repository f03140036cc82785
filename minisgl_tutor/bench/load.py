"""Puts a load on a server: all requests at once, so many at a time, or each when it is due."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine, Iterable, Sequence
from contextlib import aclosing
from typing import Protocol

from ..language import Sentence
from .answer import Answer, EventReader, RequestFailed
from .asks import Ask


class Transport(Protocol):
    """The way to a server."""

    def post(self, path: str, body: bytes) -> AsyncGenerator[bytes]:
        """The pieces of the answer's body as they come.

        Raises:
            RequestFailed: there is none, or it broke off.
        """
        ...


class Watcher(Protocol):
    """Is told how the run gets on."""

    def text(self) -> None:
        """A piece of text came."""
        ...

    def end(self, answer: Answer) -> None: ...


class NoWatcher:
    """Watches nothing."""

    def text(self) -> None:
        pass

    def end(self, answer: Answer) -> None:
        pass


class Load:
    """Requests of one run, and their answers in the order in which they ended.

    Time is that of the running event loop. A request that takes longer than
    ``timeout_s`` is given up.
    """

    def __init__(self, transport: Transport, timeout_s: float, watcher: Watcher | None = None) -> None:
        self._transport = transport
        self._timeout_s = timeout_s
        self._watcher: Watcher = watcher or NoWatcher()
        self._begin = 0.0
        self.answers: list[Answer] = []

    async def at_once(self, asks: Sequence[Ask], concurrency: int) -> list[Answer]:
        """``concurrency`` requests at a time: the next one is sent when one has ended."""
        waiting = iter(asks)

        async def client() -> None:
            for ask in waiting:
                await self._send(ask)

        return await self._run(client() for _ in range(min(concurrency, len(asks))))

    async def when_due(self, asks: Sequence[Ask]) -> list[Answer]:
        """Each request at its time, however many are under way then."""

        async def client(ask: Ask) -> None:
            await asyncio.sleep(ask.due_s - self._now())
            await self._send(ask)

        return await self._run(client(ask) for ask in asks)

    async def _run(self, clients: Iterable[Coroutine[None, None, None]]) -> list[Answer]:
        self.answers = []
        self._begin = asyncio.get_running_loop().time()
        async with asyncio.TaskGroup() as tasks:
            for client in clients:
                tasks.create_task(client)
        return self.answers

    def _now(self) -> float:
        return asyncio.get_running_loop().time() - self._begin

    async def _send(self, ask: Ask) -> None:
        body = ask.encoded()
        answer = Answer(ask, sent_s=self._now())
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._read(answer, body)
        except TimeoutError:
            answer.failure = RequestFailed(
                "timeout", Sentence("no end within {seconds:g} s", seconds=self._timeout_s)
            )
        except RequestFailed as failure:
            answer.failure = failure
        answer.end_s = self._now()
        self.answers.append(answer)
        self._watcher.end(answer)

    async def _read(self, answer: Answer, body: bytes) -> None:
        events = EventReader()
        async with aclosing(self._transport.post(answer.ask.path, body)) as pieces:
            async for piece in pieces:
                now = self._now()
                for data in events.feed(piece):
                    if answer.take(data, now):
                        self._watcher.text()
        answer.close()
