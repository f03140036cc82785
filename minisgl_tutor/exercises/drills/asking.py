"""The clients of a service: when each one comes, what it sends, and what it sees (K5.10 to K5.21)."""

from __future__ import annotations

import asyncio
import json
import random
from contextlib import suppress

import h11
import msgspec

from ..wire import Raised
from .network import Line, Network
from .route import now_us

PATIENCE_S = 20.0
PATH = "/generate"


class Ask(msgspec.Struct, frozen=True):
    """A client connects at ``ms`` and sends its request ``thinks_ms`` later, cut in two at ``cut``, if that
    is not 0, 30 ms apart. One that ``leaves`` closes its connection instead, behind so many bytes.
    """

    ms: int
    prompt: str = "Why?"
    method: str = "POST"
    path: str = PATH
    program: str = "python"
    thinks_ms: int = 0
    cut: int = 0
    leaves: int | None = None

    @property
    def body(self) -> bytes:
        return b"" if self.method == "GET" else json.dumps({"prompt": self.prompt}).encode()

    @property
    def headers(self) -> list[tuple[str, str]]:
        length = [("Content-Length", str(len(self.body)))] if self.body else []
        if self.program == "curl":
            agent = [("Host", "127.0.0.1:1919"), ("User-Agent", "curl/8.5.0"), ("Accept", "*/*")]
            return [*agent, *length, ("Content-Type", "application/json")]
        return [("Accept-Encoding", "identity"), *length, ("Host", "127.0.0.1:1919"), ("Connection", "close")]

    @property
    def data(self) -> bytes:
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{name}: {text}" for name, text in self.headers)]
        return "\r\n".join([*lines, "", ""]).encode() + self.body

    @property
    def status(self) -> int:
        """What it is to be answered with."""
        if self.path != PATH:
            return 404
        return 200 if self.method == "POST" else 405


class Client(msgspec.Struct):
    """What one client saw. ``waited_us``: from its request to the end of the answer. ``closed``: whether the
    server closed its end too, by the end of the play.
    """

    refused: bool = False
    status: int | None = None
    body: bytes = b""
    waited_us: int | None = None
    not_http: str = ""
    failed: Raised | None = None
    closed: bool = True


class Asking:
    """Asks once, and reads the answer as HTTP: up to its length, or to the end of the connection."""

    def __init__(self, ask: Ask, network: Network) -> None:
        self.seen = Client()
        self.line: Line | None = None
        self._ask = ask
        self._network = network
        self._came = asyncio.Event()
        self._http = h11.Connection(h11.CLIENT)
        self._http.send(h11.Request(method=ask.method, target=ask.path, headers=ask.headers))
        if ask.body:
            self._http.send(h11.Data(data=ask.body))
        self._http.send(h11.EndOfMessage())
        self._read = 0

    async def ask(self) -> None:
        ask = self._ask
        await asyncio.sleep(ask.ms / 1000)
        self.line = line = self._network.connect(self._came.set)
        if line is None:
            self.seen.refused = True
            return
        await asyncio.sleep(ask.thinks_ms / 1000)
        if ask.leaves is not None:
            line.send(ask.data[: ask.leaves])
            await asyncio.sleep(0.03)
        else:
            line.send(ask.data[: ask.cut or len(ask.data)])
            if ask.cut:
                await asyncio.sleep(0.03)
                line.send(ask.data[ask.cut :])
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    await self._answer(line)
        line.hang_up()

    async def _answer(self, line: Line) -> None:
        begun_us = now_us()
        try:
            while not self._complete(line):
                await self._came.wait()
                self._came.clear()
        except h11.RemoteProtocolError as error:
            if line.data:
                self.seen.not_http = str(error)[:100]
            return
        self.seen.waited_us = now_us() - begun_us

    def _complete(self, line: Line) -> bool:
        if len(line.data) > self._read:
            self._http.receive_data(line.data[self._read :])
            self._read = len(line.data)
        if line.over:
            self._http.receive_data(b"")
        while (event := self._http.next_event()) is not h11.NEED_DATA:
            if isinstance(event, h11.Response):
                self.seen.status = event.status_code
            elif isinstance(event, h11.Data):
                self.seen.body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return True
        return False


def random_asks(rng: random.Random) -> list[Ask]:
    asks = []
    for _ in range(rng.randint(1, 5)):
        kinds = [*[("POST", PATH)] * 4, ("GET", PATH), ("POST", "/other"), ("DELETE", "/x")]
        method, path = rng.choice(kinds)
        asks.append(
            Ask(
                rng.randint(10, 400),
                f"{rng.choice(('Why', 'How', '为什么'))} {rng.randrange(100)}?",
                method,
                path,
                rng.choice(("python", "curl")),
                rng.choice((0, 0, 50, 700)),
                rng.choice((0, 0, 20, 100)),
                0 if rng.random() < 0.1 else None,
            )
        )
    return asks
