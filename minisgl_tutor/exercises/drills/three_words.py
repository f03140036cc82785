"""Chapter 5, concepts, exercise 5: concurrency, parallelism, batching (K5.57, K5.62 to K5.66)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import pairwise
from types import ModuleType
from typing import NamedTuple, TypeVar

import msgspec

from ..drill import Drill, Found, Reader, Say
from ..reader_file import the_function

T = TypeVar("T")

CONCURRENCY, PARALLELISM, BATCHING, NO_FLAGS = "concurrency", "parallelism", "batching", "no-flags"


class Exchange(NamedTuple):
    """An HTTP request, from when it was accepted to when its answer was out. Times are milliseconds."""

    request: str
    accepted: int
    finished: int


class Computing(NamedTuple):
    """A stretch of time in which a process kept a core or a GPU busy."""

    process: str
    begin: int
    end: int


class Forward(NamedTuple):
    """A forward pass of the model: whose tokens were in it, one name for each sequence or chunk."""

    at: int
    requests: tuple[str, ...]


class Trace(NamedTuple):
    """What was seen of a server, or of a program that uses a model without one."""

    exchanges: tuple[Exchange, ...]
    computing: tuple[Computing, ...]
    forwards: tuple[Forward, ...]


class Case(msgspec.Struct, frozen=True):
    check: str
    trace: Trace

    @property
    def due(self) -> tuple[bool, bool, bool]:
        """Whether there is HTTP concurrency, parallel computing, batching."""
        exchanges, computing, forwards = self.trace
        return (
            _overlap([(each.accepted, each.finished) for each in exchanges]),
            any(
                one.process != other.process and one.begin < other.end and other.begin < one.end
                for place, one in enumerate(computing)
                for other in computing[:place]
            ),
            any(len(set(each.requests)) > 1 for each in forwards),
        )


class Said(msgspec.Struct):
    """The three flags, or null where the answer has no such form."""

    flags: tuple[bool, bool, bool] | None
    answer: str


class ThreeWordsDrill(Drill[Case, Case, Said]):
    """Shows traces to ``classify(trace)``."""

    job_type = Case
    seen_type = Said
    checks = (
        "one-after-another",
        "many-connections",
        "offline-batch",
        "two-processes",
        "one-process",
        "touching",
        "any-order",
        "nested",
        "chunks-of-one",
        "all-three",
        "at-random",
    )
    faults = (NO_FLAGS, CONCURRENCY, PARALLELISM, BATCHING)

    def find(self, module: ModuleType, file: str) -> object:
        return the_function(module, "classify", file)

    def cases(self, rng: random.Random) -> Sequence[Case]:
        return [*_fixed(), *(Case("at-random", _random_trace(rng)) for _ in range(30))]

    def play(self, reader: Reader, job: Case) -> Said:
        answer = reader.found(job.trace)
        is_three = isinstance(answer, tuple | list) and len(answer) == 3
        flags = tuple(answer) if is_three and all(type(each) is bool for each in answer) else None
        return Said(flags, repr(answer)[:80])

    def judge(self, case: Case, seen: Said) -> Iterator[Found]:
        if seen.flags is None:
            yield Found(NO_FLAGS, {"answer": seen.answer})
            return
        names = (CONCURRENCY, PARALLELISM, BATCHING)
        for name, due, got in zip(names, case.due, seen.flags, strict=True):
            if got is not due:
                yield Found(name, {"what": "yes" if due else "no"})

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        exchanges, computing, forwards = case.trace
        parts = [say("exchange", request=each[0], begin=each[1], end=each[2]) for each in exchanges]
        parts += [say("computing", process=each[0], begin=each[1], end=each[2]) for each in computing]
        parts += [say("forward", at=each.at, requests=" ".join(each.requests)) for each in forwards]
        return say("sentence end").join(parts)

    def size(self, case: Case) -> tuple[int, ...]:
        return (sum(map(len, case.trace)),)

    def smaller(self, case: Case) -> Iterator[Case]:
        trace = case.trace
        for place in range(len(trace.exchanges)):
            yield Case(case.check, trace._replace(exchanges=_without(trace.exchanges, place)))
        for place in range(len(trace.computing)):
            yield Case(case.check, trace._replace(computing=_without(trace.computing, place)))
        for place in range(len(trace.forwards)):
            yield Case(case.check, trace._replace(forwards=_without(trace.forwards, place)))


def _without(records: tuple[T, ...], place: int) -> tuple[T, ...]:
    return records[:place] + records[place + 1 :]


def _overlap(spans: list[tuple[int, int]]) -> bool:
    """Whether two of them share more than an instant."""
    ordered = sorted(spans)
    return any(later[0] < former[1] for former, later in pairwise(ordered))


def _fixed() -> Iterator[Case]:
    one, two = Exchange("A", 0, 40), Exchange("B", 50, 90)
    steps = (Forward(10, ("A",)), Forward(60, ("B",)))
    yield Case("one-after-another", Trace((one,), (Computing("p", 10, 20),), steps[:1]))
    yield Case(
        "one-after-another", Trace((one, two), (Computing("p", 10, 20), Computing("p", 60, 70)), steps)
    )
    ten = tuple(Exchange(name, 0, 100) for name in "ABCDEFGHIJ")
    by_turns = tuple(Computing("p", 10 * place, 10 * place + 10) for place in range(10))
    alone = tuple(Forward(10 * place, (name,)) for place, name in enumerate("ABCDEFGHIJ"))
    yield Case("many-connections", Trace(ten[:2], by_turns[:2], alone[:2]))
    yield Case("many-connections", Trace(ten, by_turns, alone))
    yield Case("offline-batch", Trace((), (Computing("p", 0, 10),), (Forward(0, tuple("ABCDEFGH")),)))
    both = (Computing("p", 10, 30), Computing("q", 20, 40))
    two_alone = (Forward(10, ("A",)), Forward(20, ("B",)))
    yield Case("two-processes", Trace((Exchange("A", 0, 50), Exchange("B", 5, 60)), both, two_alone))
    yield Case("two-processes", Trace((), both, two_alone))
    at_once = (Computing("p", 10, 30), Computing("q", 10, 30))
    yield Case("two-processes", Trace((), at_once, (Forward(10, ("A",)), Forward(10, ("B",)))))
    threads = (Computing("p", 10, 30), Computing("p", 20, 40))
    yield Case("one-process", Trace((one,), threads, (Forward(10, ("A",)), Forward(20, ("A",)))))
    touching = (Computing("p", 0, 50), Computing("q", 50, 90))
    yield Case("touching", Trace((Exchange("A", 0, 50), Exchange("B", 50, 90)), touching, steps))
    yield Case("any-order", Trace((two, one), (Computing("q", 60, 70), Computing("p", 10, 20)), steps))
    mixed = (Exchange("A", 60, 90), Exchange("B", 0, 20), Exchange("C", 10, 80))
    yield Case("any-order", Trace(mixed, (*both[::-1], Computing("q", 50, 60)), (*steps[::-1], *two_alone)))
    nested = (Computing("p", 0, 100), Computing("p", 10, 20), Computing("q", 30, 40))
    yield Case("nested", Trace((one,), nested, steps[:1]))
    yield Case("nested", Trace((), (*nested[:2], Computing("p", 30, 40), Computing("q", 90, 99)), ()))
    yield Case("chunks-of-one", Trace((one,), (Computing("p", 0, 30),), (Forward(0, ("A", "A")),)))
    batched = (Forward(10, ("A", "B")), Forward(20, ("A",)))
    yield Case("all-three", Trace((Exchange("A", 0, 50), Exchange("B", 5, 60)), both, batched))


def _random_trace(rng: random.Random) -> Trace:
    def span() -> tuple[int, int]:
        begin = rng.randrange(0, 90, 10)
        return begin, begin + rng.randrange(10, 40, 10)

    names = "ABCD"[: rng.randint(1, 4)]
    exchanges = tuple(Exchange(name, *span()) for name in names if rng.random() < 0.8)
    computing = tuple(Computing(rng.choice("pq"), *span()) for _ in range(rng.randint(1, 3)))
    if rng.random() < 0.3:
        computing = (*computing, Computing("p", 0, 100))
    forwards = tuple(
        Forward(begin, tuple(rng.choice(names) for _ in range(rng.randint(1, 2))))
        for _, begin, _ in computing
    )
    return Trace(exchanges, computing, forwards)
