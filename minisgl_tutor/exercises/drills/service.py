"""Chapter 5, concepts, exercise 1: from a function to a service (K5.2, K5.7, K5.9)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any

import h11
import msgspec

from ...language import Sentence
from ..drill import RAISED, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import the_function
from ..wire import Raised
from .network import Line, Network
from .route import now_us
from .stage import name_of

NOT_LISTENING, LEAVES, REFUSED, NO_ANSWER, NOT_HTTP, HELD_UP, STATUS, ANSWER, NOT_CLOSED, LOADED = (
    "not-listening",
    "leaves",
    "refused",
    "no-answer",
    "not-http",
    "held-up",
    "status",
    "answer",
    "not-closed",
    "loaded",
)

HELD_UP_US = 100_000
PATIENCE_S = 20.0
AFTERWARDS_S = 60.0
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


class Case(msgspec.Struct, frozen=True):
    """``tag``: what this model makes of every prompt."""

    check: str
    tag: str
    asks: tuple[Ask, ...]


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


class Seen(msgspec.Struct):
    clients: list[Client]
    listened: bool
    left: bool
    loads: int


class Model:
    def __init__(self, tag: str) -> None:
        self._tag = tag

    def generate(self, prompt: str) -> str:
        if not isinstance(prompt, str):
            raise TypeError(
                Sentence("the prompt is a text, and this is none: {none}", none=repr(prompt)[:40])
            )
        return answer_to(prompt, self._tag)


def answer_to(prompt: str, tag: str) -> str:
    return f"{tag} {prompt[::-1]}"


class ServiceDrill(Drill[Case, Case, Seen]):
    """Runs the reader's ``main`` on a network in memory, and sends it clients."""

    job_type = Case
    seen_type = Seen
    checks = (
        "one-client",
        "stays",
        "loaded-once",
        "two-programs",
        "two-at-once",
        "hangs-up",
        "unknown-path",
        "other-method",
        "at-random",
    )
    faults = (
        NOT_LISTENING,
        REFUSED,
        NO_ANSWER,
        NOT_HTTP,
        STATUS,
        ANSWER,
        HELD_UP,
        NOT_CLOSED,
        LEAVES,
        LOADED,
    )

    def find(self, module: ModuleType, file: str) -> Callable[..., Any]:
        return the_function(module, "main", file)

    def cases(self, rng: random.Random) -> Sequence[Case]:
        def case(check: str, *asks: Ask) -> Case:
            return Case(check, f"model-{rng.randrange(10_000):04}:", asks)

        curl = Ask(200, "How?", program="curl")
        return [
            case("one-client", Ask(10)),
            case("stays", Ask(10), Ask(200, "How?"), Ask(3_600_000, "When?")),
            case("stays", *(Ask(10 + 5 * at, f"Question {at}?") for at in range(40))),
            case("loaded-once", Ask(10), Ask(200)),
            case("two-programs", Ask(10), curl),
            case("two-programs", Ask(10, "什么是 KV Cache？"), Ask(200, "How?", program="curl", cut=70)),
            case("two-at-once", Ask(10, thinks_ms=2_000), Ask(100, "How?", program="curl")),
            case("two-at-once", Ask(10, cut=140), Ask(20, "How?")),
            case("hangs-up", Ask(10, leaves=0), curl),
            case("hangs-up", Ask(10, leaves=40), curl),
            case("unknown-path", Ask(10, path="/"), curl),
            case("unknown-path", Ask(10, path="/generate/more"), curl),
            case("unknown-path", Ask(10, path="/nothing", method="GET"), curl),
            case("other-method", Ask(10, method="GET"), curl),
            case("other-method", Ask(10, method="PUT"), curl),
            *(case("at-random", *_random_asks(rng)) for _ in range(15)),
        ]

    def play(self, reader: Reader, job: Case) -> Seen:
        return in_virtual_time(lambda: _play(reader, job))

    def judge(self, case: Case, seen: Seen) -> Iterator[Found]:
        if not seen.listened:
            yield Found(NOT_LISTENING)
            return
        for index, (ask, client) in enumerate(zip(case.asks, seen.clients, strict=True)):
            if ask.leaves is None and not (seen.left and client.waited_us is None):
                yield from _of_one(index, ask, case.tag, client)
            if not client.closed:
                yield Found(NOT_CLOSED, {"who": name_of(index)})
        if seen.left:
            yield Found(LEAVES)
        if seen.loads > 1:
            yield Found(LOADED, {"loads": seen.loads, "clients": len(case.asks)})

    def check_of(self, case: Case, fault: str) -> str:
        return {LEAVES: "stays", LOADED: "loaded-once"}.get(fault, case.check)

    def in_words(self, case: Case, say: Say) -> str:
        asks = [_in_words(index, ask, say) for index, ask in enumerate(case.asks[:5])]
        more = [say("more", count=len(case.asks) - 5)] if len(case.asks) > 5 else []
        return say("sentence end").join([*asks, *more])

    def size(self, case: Case) -> tuple[int, ...]:
        return len(case.asks), sum(ask.ms for ask in case.asks)

    def smaller(self, case: Case) -> Iterator[Case]:
        for index in range(len(case.asks) if len(case.asks) > 1 else 0):
            yield Case(case.check, case.tag, case.asks[:index] + case.asks[index + 1 :])


def _of_one(index: int, ask: Ask, tag: str, client: Client) -> Iterator[Found]:
    values = {"who": name_of(index), "status": ask.status, "got": client.status}
    if client.refused:
        yield Found(REFUSED, values)
    elif client.failed is not None and client.waited_us is None:
        yield Found(RAISED, client.failed.values())
    elif client.not_http:
        yield Found(NOT_HTTP, {**values, "reason": client.not_http})
    elif client.waited_us is None:
        yield Found(NO_ANSWER, values)
    elif client.status != ask.status:
        yield Found(STATUS, {**values, "asked": f"{ask.method} {ask.path}"})
    elif ask.status == 200 and _text(client.body) != answer_to(ask.prompt, tag):
        due = json.dumps({"text": answer_to(ask.prompt, tag)}, ensure_ascii=False)
        yield Found(ANSWER, {**values, "due": due, "body": client.body[:100].decode(errors="replace")})
    elif client.waited_us > HELD_UP_US:
        yield Found(HELD_UP, {**values, "ms": client.waited_us // 1000})


def _text(body: bytes) -> object:
    try:
        fields = json.loads(body)
    except ValueError:
        return None
    return fields.get("text") if isinstance(fields, dict) else None


def _in_words(index: int, ask: Ask, say: Say) -> str:
    values = {"who": name_of(index), "ms": ask.ms, "program": ask.program}
    if ask.leaves is not None:
        return say("hangs up", bytes=ask.leaves, **values)
    text = say("asks", asked=f"{ask.method} {ask.path}", thinks=ask.thinks_ms, **values)
    return text + (say("in two") if ask.cut else "")


async def _play(reader: Reader, case: Case) -> Seen:
    network, loads = Network(), [0]

    def load_model() -> Model:
        loads[0] += 1
        return Model(case.tag)

    program = asyncio.create_task(reader.found(network, load_model), name="main")
    program.add_done_callback(lambda _: network.down())
    clients = [_Client(ask, network) for ask in case.asks]
    await asyncio.gather(*(client.ask() for client in clients))
    await asyncio.sleep(AFTERWARDS_S)
    left = program.done()
    if left and not program.cancelled():
        program.result()
    for client in clients:
        if client.line is not None:
            client.seen.closed = client.line.closed
            if client.line.failure is not None:
                client.seen.failed = reader.raised(client.line.failure)
    return Seen([client.seen for client in clients], bool(network.servers), left, loads[0])


class _Client:
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


def _random_asks(rng: random.Random) -> list[Ask]:
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
