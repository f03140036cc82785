"""Chapter 5, concepts, exercise 4: replies find their client by a mark (K5.27, K5.28, K5.58, C5.78)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from itertools import pairwise
from types import ModuleType
from typing import Any

import msgspec

from ..drill import NEVER_ENDS, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import check_plain, the_class_named
from .front import PATIENCE_S
from .lifecycle.kept import MANY, Keeping, growing

FOREIGN, LOST, ORDER, HELD_UP, CHANGED, SAME_MARK, GROWS = (
    "foreign",
    "lost",
    "order",
    "held-up",
    "changed",
    "same-mark",
    "grows",
)

HELD_UP_US = 5_000
"""A reply must have reached its client, and a request the backend, by then."""


class Ask(msgspec.Struct, frozen=True):
    """A client asks at ``ms``, and leaves at ``leaves_ms`` if it does. Its replies come at ``replies_ms``,
    the last one finished.
    """

    ms: int
    text: str
    max_tokens: int
    replies_ms: tuple[int, ...]
    leaves_ms: int | None = None


class Case(msgspec.Struct, frozen=True):
    check: str
    asks: tuple[Ask, ...]

    @property
    def in_turn(self) -> bool:
        """Many clients come, each when nothing is to come for the one before it any more."""
        over = all(one.replies_ms[-1] + 1 < later.ms for one, later in pairwise(self.asks))
        return over and len(self.asks) >= MANY

    def pieces(self, index: int) -> list[str]:
        return [f"{_name(index)}{place + 1}" for place in range(len(self.asks[index].replies_ms))]


class Client(msgspec.Struct):
    """What one client got and when, whether it was told the end, or was let go, and what the backend was
    handed, when. ``sizes``: how much the front kept behind its last reply, of whatever request, by where.
    """

    came: list[tuple[int, str]]
    ended: bool = False
    handed: tuple[int, str, int] | None = None
    sizes: dict[str, int] = {}


class Seen(msgspec.Struct):
    clients: list[Client]
    marks_differ: bool


class MarksDrill(Drill[Case, Case, Seen]):
    """Plays clients and a backend around the reader's ``Front``."""

    job_type = Case
    seen_type = Seen
    checks = (
        "alone",
        "by-turns",
        "held-back",
        "same-text",
        "parameters",
        "one-by-one",
        "leaves",
        "many",
        "twenty",
        "at-random",
    )
    faults = (FOREIGN, CHANGED, SAME_MARK, HELD_UP, LOST, ORDER, NEVER_ENDS, GROWS)

    def find(self, module: ModuleType, file: str) -> type:
        cls = the_class_named(module, "Front", file)
        check_plain(getattr(cls, "on_reply", None), file)
        return cls

    def cases(self, rng: random.Random) -> Sequence[Case]:
        fixed = [
            Case("alone", (Ask(0, "Why?", 16, (10, 20)),)),
            Case("by-turns", (Ask(0, "Why?", 16, (10, 40)), Ask(1, "How?", 16, (20, 30)))),
            Case("by-turns", (Ask(0, "Why?", 16, (10, 20)), Ask(30, "How?", 16, (40, 50)))),
            Case("held-back", (Ask(0, "Why?", 16, (500,)), Ask(10, "How?", 16, (20, 30)))),
            Case("same-text", (Ask(0, "Why?", 16, (20, 40)), Ask(1, "Why?", 16, (10, 30)))),
            Case("parameters", (Ask(0, "Why?", 3, (20,)), Ask(1, "Why?", 77, (10,)))),
            # A mark made of an object's address comes again when that object is gone.
            Case(
                "one-by-one",
                tuple(Ask(30 * at, f"Q{at}", 16, (30 * at + 10, 30 * at + 20)) for at in range(20)),
            ),
            Case("many", tuple(Ask(30 * at, f"Q{at}", 16, (30 * at + 10, 30 * at + 20)) for at in range(12))),
            Case("leaves", (Ask(0, "Why?", 16, (10, 30), 15), Ask(1, "How?", 16, (20, 40)))),
            Case("leaves", (Ask(0, "Why?", 16, (20, 30, 35), 10), Ask(1, "Why?", 16, (15, 40)))),
            Case(
                "leaves",
                tuple(
                    Ask(40 * at, f"Q{at}", 16, (40 * at + 10, 40 * at + 30), 40 * at + 20) for at in range(12)
                ),
            ),
            Case("twenty", tuple(Ask(at, f"Q{at}", 16, (100 - at, 200 + 3 * at % 7)) for at in range(20))),
        ]
        return [*fixed, *(_random_case(rng) for _ in range(12))]

    def play(self, reader: Reader, job: Case) -> Seen:
        return in_virtual_time(lambda: _Desk(reader.found, job, reader.module).play())

    def judge(self, case: Case, seen: Seen) -> Iterator[Found]:
        if not seen.marks_differ:
            yield Found(SAME_MARK)
        for index, (ask, client) in enumerate(zip(case.asks, seen.clients, strict=True)):
            yield from _of_one(index, ask, case.pieces(index), client)
        if case.in_turn and (grown := growing([each.sizes for each in seen.clients])):
            yield Found(GROWS, {"count": len(case.asks), "where": grown})

    def check_of(self, case: Case, fault: str) -> str:
        return "many" if fault == GROWS else case.check

    def in_words(self, case: Case, say: Say) -> str:
        parts = []
        for index, ask in enumerate(case.asks[:4]):
            times = ", ".join(map(str, ask.replies_ms))
            text = say("asks", who=_name(index), ms=ask.ms, text=ask.text, tokens=ask.max_tokens, times=times)
            parts.append(text + ("" if ask.leaves_ms is None else say("leaves", ms=ask.leaves_ms)))
        if len(case.asks) > 4:
            parts.append(say("more", count=len(case.asks) - 4))
        return say("sentence end").join(parts)

    def size(self, case: Case) -> tuple[int, ...]:
        return len(case.asks), sum(len(ask.replies_ms) for ask in case.asks)

    def smaller(self, case: Case) -> Iterator[Case]:
        if case.check in ("one-by-one", "leaves", "twenty", "at-random"):
            for index in range(len(case.asks)):
                if rest := case.asks[:index] + case.asks[index + 1 :]:
                    yield Case(case.check, rest)


class _Desk:
    """The clients and the backend. Whose request is handed over is known by the context.

    A task that hands over for others has that of one of them; then it is the first one's who asked the same.
    """

    def __init__(self, cls: type, case: Case, module: ModuleType | None) -> None:
        self._case = case
        self._asking: ContextVar[int] = ContextVar("asking")
        self._front: Any = cls(self._handed)
        self._keeping = Keeping(self._front, module)
        self._marks: dict[int, Any] = {}
        self._asked: list[int] = []
        self._seen = [Client([]) for _ in case.asks]

    async def play(self) -> Seen:
        loop = asyncio.get_running_loop()
        clients = [loop.create_task(self._ask(index)) for index in range(len(self._case.asks))]
        for index, ask in enumerate(self._case.asks):
            for place, ms in enumerate(ask.replies_ms):
                last = place == len(ask.replies_ms) - 1
                loop.call_at(ms / 1000, self._reply, index, f"{_name(index)}{place + 1}", last)
        done, _ = await asyncio.wait(clients, timeout=PATIENCE_S, return_when="FIRST_EXCEPTION")
        for task in done:
            task.result()
        marks = list(map(repr, self._marks.values()))
        return Seen(self._seen, len(set(marks)) == len(marks))

    async def _ask(self, index: int) -> None:
        """Reads the answer, or as much of it as comes before the client leaves."""
        ask, client = self._case.asks[index], self._seen[index]
        loop = asyncio.get_running_loop()
        self._asking.set(index)
        await asyncio.sleep(ask.ms / 1000)
        self._asked.append(index)
        if ask.leaves_ms is None:
            await self._read(index)
        else:
            reading = loop.create_task(self._read(index))
            loop.call_at(ask.leaves_ms / 1000, reading.cancel)
            await asyncio.wait({reading})
            if not reading.cancelled():
                reading.result()
        client.ended = True
        if not self._case.in_turn or self._case.check == "one-by-one":
            return  # what is noted here may take the place of an object that is gone
        await asyncio.sleep(max(0, ask.replies_ms[-1] / 1000 + 0.001 - loop.time()))
        client.sizes = self._keeping.sizes()

    async def _read(self, index: int) -> None:
        ask, client = self._case.asks[index], self._seen[index]
        async for piece in self._front.ask(ask.text, ask.max_tokens):
            client.came.append((_now_us(), str(piece)))

    def _handed(self, mark: Any, text: str, max_tokens: int) -> None:
        index = self._asking.get(-1)
        if index < 0 or index in self._marks:
            index = self._first_like(text, max_tokens, index)
        self._marks[index] = mark
        self._seen[index].handed = (_now_us(), str(text), int(max_tokens))

    def _first_like(self, text: str, max_tokens: int, known: int) -> int:
        """Who has asked so, and waits that it is handed over; else ``known``, or whoever waits for it."""
        waiting = [index for index in self._asked if index not in self._marks]
        like = [
            index
            for index in waiting
            if (self._case.asks[index].text, self._case.asks[index].max_tokens) == (text, max_tokens)
        ]
        return [*like, *waiting, max(known, 0)][0]

    def _reply(self, index: int, piece: str, finished: bool) -> None:
        if index in self._marks:  # the backend answers what it was asked
            self._front.on_reply(self._marks[index], piece, finished)


def _now_us() -> int:
    return round(asyncio.get_running_loop().time() * 1e6)


def _name(index: int) -> str:
    return chr(ord("A") + index)


def _of_one(index: int, ask: Ask, due: list[str], client: Client) -> Iterator[Found]:
    got = [text for _, text in client.came]
    if ask.leaves_ms is not None:
        due = due[: sum(ms < ask.leaves_ms for ms in ask.replies_ms)]
    values = {"who": _name(index), "due": " ".join(due), "got": " ".join(got) or "-"}
    if client.handed is None or client.handed[0] > ask.ms * 1000 + HELD_UP_US:
        yield Found(HELD_UP, {"what": "request", **values})
        return
    if client.handed[1:] != (ask.text, ask.max_tokens):
        asked = f"{ask.text!r}, {ask.max_tokens}"
        yield Found(
            CHANGED, {"asked": asked, "handed": f"{client.handed[1]!r}, {client.handed[2]}", **values}
        )
    if set(got) - set(due):
        yield Found(FOREIGN, values)
    elif got != due:
        yield Found(LOST if set(due) - set(got) else ORDER, values)
    elif not client.ended:
        yield Found(NEVER_ENDS, {"what": "client" if ask.leaves_ms is None else "leaver", **values})
    else:
        times = zip(client.came, sorted(ask.replies_ms), strict=False)
        late = max((at - ms * 1000 for (at, _), ms in times), default=0)
        if late > HELD_UP_US:
            yield Found(HELD_UP, {"what": "reply", **values})


def _random_case(rng: random.Random) -> Case:
    asks = []
    for _ in range(rng.randint(2, 5)):
        begin = rng.randint(0, 40)
        times = sorted(rng.sample(range(begin + 7, 200, 2), rng.randint(1, 4)))
        leaves_ms = rng.randrange(begin + 8, 200, 2) if rng.random() < 0.3 else None
        asks.append(Ask(begin, rng.choice(("Why?", "How?")), rng.choice((1, 16)), tuple(times), leaves_ms))
    return Case("at-random", tuple(asks))
