"""Chapter 5, exercise 1: a handler that waits must give the loop away (C5.39, C5.66, C5.80 to C5.83)."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from ...message import TokenizeMsg
from ...trace.asgi import Exchange
from ...trace.clock import VirtualTimeLoop
from ..drill import NEVER_ENDS, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import the_function
from ..wire import Raised
from .front import PATIENCE_S, reply
from .route import Route, failed, failure, now_us

HEART, NOT_SENT, QUEUED, TEXT, LATE, BUSY = "heart", "not-sent", "queued", "text", "late", "busy"

BEAT_US = 10_000
LONGEST_GAP_US = 50_000
LATE_US = 5_000
"""An answer must be out by then: in virtual time code takes none, and who looks every 20 ms is late."""
AT_ONCE_US = 5_000

TURNS_A_SECOND = 300
TURNS_A_REQUEST = 80
TURNS_A_REPLY = 15
"""Turns of the loop that may be taken: a right handler needs none while it waits, and some for what comes."""


class Asked(msgspec.Struct, frozen=True):
    """A client's prompt, when it comes, and the replies to it: after how many ms each, and its text."""

    prompt: str
    at_ms: int
    replies: tuple[tuple[int, str], ...]

    @property
    def text(self) -> str:
        return "".join(text for _, text in self.replies)

    @property
    def takes_us(self) -> int:
        return sum(ms for ms, _ in self.replies) * 1000

    @property
    def due_us(self) -> int:
        return self.at_ms * 1000 + self.takes_us


class Case(msgspec.Struct, frozen=True):
    check: str
    asked: tuple[Asked, ...]


class Answered(msgspec.Struct):
    """When its request was sent to the backend, and what its client got, when."""

    sent_us: int | None = None
    status: int | None = None
    body: bytes = b""
    failed: Raised | None = None
    ended_us: int | None = None


class Seen(msgspec.Struct):
    """``gap_us``: by how much the latest beat of the heart was late. ``turns``: the loop's for all else."""

    answered: list[Answered]
    gap_us: int = 0
    turns: int = 0
    seconds: float = 0.0


class Model:
    """Computes in the thread that asks it, for as long as the backend would take."""

    def __init__(self, case: Case) -> None:
        self._case = case

    def generate(self, prompt: str) -> str:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        asked = next(each for each in self._case.asked if each.prompt == prompt)
        loop.block(asked.takes_us)
        return asked.text


class BlockingDrill(Drill[Case, Case, Seen]):
    """Posts prompts to the reader's ``generate`` while a heart beats in the same loop."""

    job_type = Case
    seen_type = Seen
    checks = ("one-request", "short-behind-long", "long-wait", "eight-at-once", "at-random")
    faults = (HEART, NOT_SENT, QUEUED, NEVER_ENDS, TEXT, LATE, BUSY)

    def find(self, module: ModuleType, file: str) -> Callable[..., Any]:
        return the_function(module, "generate", file)

    def cases(self, rng: random.Random) -> Sequence[Case]:
        def answer(name: str, *ms: int) -> tuple[tuple[int, str], ...]:
            return tuple((each, f"{name}{place}-{rng.randrange(1000):03} ") for place, each in enumerate(ms))

        def asked(name: str, at_ms: int, *ms: int) -> Asked:
            return Asked(f"Prompt {name}", at_ms, answer(name, *ms))

        eight = [asked(name, 5 * place, 900 - 100 * place) for place, name in enumerate("ABCDEFGH")]
        return [
            Case("one-request", (asked("A", 0, 107),)),
            Case("one-request", (asked("A", 0, 100, 100, 150),)),
            Case("short-behind-long", (asked("A", 0, 400), asked("B", 50, 100))),
            Case("short-behind-long", (asked("A", 0, 300, 300), asked("B", 50, 60, 60), asked("C", 90, 70))),
            Case("long-wait", (asked("A", 0, 2000), asked("B", 20, 1500))),
            Case("eight-at-once", tuple(eight)),
            *(_random_case(rng, asked) for _ in range(12)),
        ]

    def play(self, reader: Reader, job: Case) -> Seen:
        return in_virtual_time(lambda: _play(reader.found, job, reader.path))

    def judge(self, case: Case, seen: Seen) -> Iterator[Found]:
        if seen.gap_us > LONGEST_GAP_US:
            yield Found(HEART, {"ms": seen.gap_us // 1000})
        for each, answered in zip(case.asked, seen.answered, strict=True):
            yield from _of_one(each, answered)
        most = (
            int(TURNS_A_SECOND * seen.seconds)
            + TURNS_A_REQUEST * len(case.asked)
            + TURNS_A_REPLY * sum(len(each.replies) for each in case.asked)
        )
        if seen.turns > most:
            yield Found(BUSY, {"count": seen.turns, "most": most})

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        return say("sentence end").join(
            say("asked", prompt=each.prompt, at=each.at_ms, ms=" + ".join(str(ms) for ms, _ in each.replies))
            for each in case.asked
        )

    def size(self, case: Case) -> tuple[int, ...]:
        return len(case.asked), sum(len(each.replies) for each in case.asked)

    def smaller(self, case: Case) -> Iterator[Case]:
        for index in range(len(case.asked) if len(case.asked) > 1 else 0):
            yield Case(case.check, case.asked[:index] + case.asked[index + 1 :])


def _of_one(asked: Asked, answered: Answered) -> Iterator[Found]:
    if answered.failed is not None:
        yield failed(answered.failed)
        return
    values = {"prompt": asked.prompt, "due": repr(asked.text), "got": _got(answered)}
    if answered.sent_us is None:
        yield Found(NOT_SENT, values)
        return
    waited_us = answered.sent_us - asked.at_ms * 1000
    if waited_us > AT_ONCE_US:
        yield Found(QUEUED, {**values, "ms": waited_us // 1000})
    if answered.ended_us is None:
        yield Found(NEVER_ENDS, {"what": "answer", **values})
    elif _text(answered) != asked.text:
        yield Found(TEXT, values)
    elif answered.ended_us - asked.due_us > LATE_US:
        yield Found(LATE, {**values, "ms": (answered.ended_us - asked.due_us) // 1000})


def _text(answered: Answered) -> object:
    try:
        body = json.loads(answered.body)
    except ValueError:
        return None
    return body.get("text") if isinstance(body, dict) and answered.status == 200 else None


def _got(answered: Answered) -> str:
    if answered.status is None:
        return "-"
    return f"{answered.status}, {answered.body[:120].decode(errors='replace')}"


async def _play(handler: Callable[..., Any], case: Case, file: Path | None) -> Seen:
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualTimeLoop)
    route = Route("/generate", handler, model=Model(case))
    seen = Seen([Answered() for _ in case.asked])
    exchanges: dict[int, Exchange] = {}
    beats = [0]

    async def beat() -> None:
        while True:
            before = now_us()
            await asyncio.sleep(BEAT_US / 1e6)
            seen.gap_us = max(seen.gap_us, now_us() - before - BEAT_US)
            beats[0] += 1

    async def backend() -> None:
        async for msg in route.sent():
            if isinstance(msg, TokenizeMsg):
                for index, each in enumerate(case.asked):
                    if each.prompt in str(msg.text) and seen.answered[index].sent_us is None:
                        seen.answered[index].sent_us = now_us()
                        tasks.append(asyncio.create_task(give(msg.uid, each), name="backend"))

    async def give(uid: int, asked: Asked) -> None:
        for place, (ms, text) in enumerate(asked.replies):
            await asyncio.sleep(ms / 1000)
            route.reply([reply(uid, text, place == len(asked.replies) - 1)])

    async def ask(index: int, asked: Asked) -> None:
        await asyncio.sleep(asked.at_ms / 1000)
        exchanges[index] = exchange = route.post(json.dumps({"prompt": asked.prompt}).encode())
        await exchange.wait()
        await exchange.wait_app()

    tasks = [asyncio.create_task(beat(), name="heart"), asyncio.create_task(backend(), name="tokenizer")]
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S / 4):
            await asyncio.gather(*(ask(index, asked) for index, asked in enumerate(case.asked)))
    seen.turns, seen.seconds = loop.turns - 2 * beats[0], now_us() / 1e6
    for index, exchange in exchanges.items():
        answered = seen.answered[index]
        answered.status, answered.body = exchange.status, exchange.body
        answered.failed = failure(exchange, file)
        for event in exchange.events:
            if event.kind == "completed":
                answered.ended_us = event.at_us
    return seen


def _random_case(rng: random.Random, asked: Callable[..., Asked]) -> Case:
    some = []
    for name in "ABCDEF"[: rng.randint(2, 6)]:
        times = [rng.randint(60, 300) for _ in range(rng.randint(1, 4))]
        some.append(asked(name, rng.randint(0, 40) * 10, *times))
    return Case("at-random", tuple(some))
