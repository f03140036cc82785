"""Chapter 5, concepts, exercise 1: from a function to a service (K5.2, K5.7, K5.9)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import msgspec

from ...language import Sentence
from ..drill import RAISED, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import the_function
from .asking import Ask, Asking, Client, random_asks
from .network import Network
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
AFTERWARDS_S = 60.0


class Case(msgspec.Struct, frozen=True):
    """``tag``: what this model makes of every prompt."""

    check: str
    tag: str
    asks: tuple[Ask, ...]


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
            *(case("at-random", *random_asks(rng)) for _ in range(15)),
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
    clients = [Asking(ask, network) for ask in case.asks]
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
