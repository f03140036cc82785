"""Chapter 5, exercise 5: to each its own replies, and nothing left behind (C5.77, C5.122, C5.153)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from types import ModuleType

import msgspec
from msgspec.structs import replace

from ...recording import Recording
from ...server.frontend import FrontendManager
from ..drill import RAISED, Drill, Found, Reader, Say
from ..reader_file import the_class
from .lifecycle.drill import LifecycleDrill
from .lifecycle.judge import FAULTS, WRONG_ANSWER
from .lifecycle.observation import Job, Observation
from .lifecycle.schedule import Client, Ending, Extra, Schedule, client, in_order, smaller
from .lifecycle.schedules import one_after_another

INTERLEAVINGS = 20


class Case(msgspec.Struct, frozen=True):
    check: str
    schedule: Schedule


class RoutingDrill(Drill[Case, Job, Observation]):
    """Answers several requests by turns, over the whole way from the route to the client."""

    job_type = Job
    seen_type = Observation
    checks = (
        "one-answer",
        "by-turns",
        "second-first",
        "one-ends",
        "one-leaves",
        "late-replies",
        "next-request",
        "five-at-random",
    )
    # An answer of somebody else's says more than that its owner waits for it.
    faults = tuple(
        sorted(FAULTS, key=lambda each: (FAULTS.index(each) > FAULTS.index(RAISED), each != WRONG_ANSWER))
    )

    def __init__(self) -> None:
        self._lifecycle = LifecycleDrill()

    def prepare(self) -> None:
        self._lifecycle.prepare()

    def find(self, module: ModuleType, file: str) -> type[FrontendManager]:
        return the_class(module, FrontendManager, file, ("file_reply", "end_user"))

    def play(self, reader: Reader, job: Job) -> Observation:
        return self._lifecycle.play(reader, job)

    def cases(self, rng: random.Random) -> Sequence[Case]:
        return [*_fixed(), *(Case("five-at-random", _interleaved(rng)) for _ in range(INTERLEAVINGS))]

    def job(self, case: Case) -> Job:
        return self._lifecycle.job(case.schedule)

    def judge(self, case: Case, seen: Observation) -> Iterator[Found]:
        return self._lifecycle.judge(case.schedule, seen)

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def size(self, case: Case) -> tuple[int, ...]:
        return case.schedule.size()

    def smaller(self, case: Case) -> Iterator[Case]:
        for schedule in smaller(case.schedule):
            yield Case(case.check, schedule)

    def recording(self, case: Case) -> tuple[Recording, str] | None:
        return self._lifecycle.recording(case.schedule)

    def in_words(self, case: Case, say: Say) -> str:
        return self._lifecycle.in_words(case.schedule, say)


def _fixed() -> Iterator[Case]:
    for stream in (True, False):
        yield Case("one-answer", Schedule((Client(stream, 1),)))
        yield Case("one-answer", Schedule((Client(stream, 3),)))
    two = Client(True, 2)
    # A1 B1 B2 A2, then both in the same steps, then one a step later.
    yield Case("by-turns", Schedule((replace(two, pauses=(0, 2)), replace(two, pauses=(1,)))))
    yield Case("by-turns", Schedule((two, two)))
    yield Case("by-turns", Schedule((Client(True, 3), Client(True, 3, start=1))))
    yield Case("by-turns", Schedule((Client(False, 3), Client(True, 4), Client(False, 2, start=1))))
    yield Case("by-turns", Schedule((replace(two, pauses=(0, -1)), two)))
    yield Case("by-turns", Schedule(tuple(Client(place % 3 > 0, 3, start=place // 2) for place in range(8))))
    yield Case("second-first", Schedule((Client(True, 5), Client(True, 2, start=1))))
    yield Case("second-first", Schedule((Client(False, 5), Client(False, 1, start=1))))
    yield Case("one-ends", Schedule((Client(True, 1), Client(True, 4))))
    yield Case("one-ends", Schedule((Client(True, 4), Client(False, 2), Client(True, 6))))
    # It leaves while replies are there that it has not read.
    yield Case("one-leaves", Schedule((client(True, Ending.LEAVES_STUCK, 2),), "2.4"))
    for stream in (True, False):
        leaves = client(stream, Ending.LEAVES_WAITING, 1)
        yield Case("one-leaves", Schedule((leaves,)))
        yield Case("one-leaves", Schedule((leaves, Client(True, 6), Client(False, 4))))
        yield Case("one-leaves", Schedule((Client(True, 6), replace(leaves, start=1))))
        yield Case("late-replies", Schedule((leaves,), extra=Extra.LATE_REPLIES))
        yield Case("late-replies", Schedule((Client(stream, 2),), extra=Extra.LATE_REPLIES))
        yield Case("late-replies", Schedule((Client(stream, 1), Client(True, 5)), extra=Extra.LATE_REPLIES))
    yield Case("next-request", Schedule((Client(True, 1), Client(True, 2, start=4))))
    yield Case(
        "next-request", Schedule((Client(True, 1), Client(True, 3, start=2)), extra=Extra.LATE_REPLIES)
    )
    leaves = client(True, Ending.LEAVES_WAITING, 1)
    yield Case("next-request", Schedule((leaves, Client(True, 3, start=2)), extra=Extra.LATE_REPLIES))
    yield from (Case("next-request", each) for each in one_after_another())


def _interleaved(rng: random.Random) -> Schedule:
    """Five requests whose replies come in any order. Every third time one of their clients leaves."""
    leaver = rng.randrange(15)
    clients = []
    for index in range(5):
        pauses = tuple(rng.choice((-1, 0, 0, 1, 2)) for _ in range(rng.randint(1, 4)))
        each = Client(rng.random() < 0.7, len(pauses), start=rng.randint(0, 3), pauses=pauses)
        if index == leaver:
            each = replace(client(each.stream, Ending.LEAVES_WAITING, rng.randint(0, 2)), start=each.start)
        clients.append(each)
    first = min(each.start for each in clients)
    return Schedule(in_order([replace(each, start=each.start - first) for each in clients]))
