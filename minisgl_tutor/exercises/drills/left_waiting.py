"""Chapter 5, exercise 8: a client that waits for a whole answer and leaves is noticed (C5.159, C5.160)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from types import ModuleType

from msgspec.structs import replace

from ...server.frontend import FrontendManager
from ..reader_file import the_class
from .lifecycle.drill import LifecycleDrill
from .lifecycle.schedule import LONG_STEPS, Client, Ending, Extra, Schedule, client, random_schedule

STAYS, LEAVES = Ending.STAYS, Ending.LEAVES_WAITING
ENDINGS = (STAYS, LEAVES, LEAVES, Ending.LEAVES_AT_END, Ending.REFUSED)
RANDOM = 12


class LeftWaitingDrill(LifecycleDrill):
    """Schedules of clients that do not stream, over a class with a ``collect`` of its own."""

    checks = (
        "stays",
        "leaves-midway",
        "leaves-early",
        "leaves-at-the-end",
        "error",
        "late-replies",
        "abort-meets-leaving",
        "neighbours",
    )

    def find(self, module: ModuleType, file: str) -> type[FrontendManager]:
        return the_class(module, FrontendManager, file, ("collect",))

    def cases(self, rng: random.Random) -> Sequence[Schedule]:
        return [*_fixed(), *(_random(rng) for _ in range(RANDOM))]

    def check_of(self, case: Schedule, fault: str) -> str:
        if len(case.clients) > 1:
            return "neighbours"
        if case.extra is Extra.LATE_REPLIES:
            return "late-replies"
        if case.extra in (Extra.ABORT_FIRST, Extra.ABORT_AFTER):
            return "abort-meets-leaving"
        match case.clients[0]:
            case Client(ending=Ending.LEAVES_WAITING, after=after):
                return "leaves-midway" if after else "leaves-early"
            case Client(ending=Ending.LEAVES_AT_END):
                return "leaves-at-the-end"
            case Client(ending=Ending.STAYS):
                return "stays"
        return "error"


def _fixed() -> list[Schedule]:
    def whole(ending: Ending = STAYS, after: int = 0, start: int = 0) -> Client:
        return client(False, ending, after, start)

    longer = Client(False, 5)
    schedules = [Schedule((Client(False, replies),)) for replies in (1, 3, 12)]
    schedules += [Schedule((Client(False, 2, pauses=(0, LONG_STEPS)),))]
    schedules += [Schedule((Client(False, 2),), extra=Extra.ANOTHER_MESSAGE)]
    schedules += [Schedule((whole(LEAVES, 1),), extra=Extra.ANOTHER_MESSAGE)]
    for spec in ("2.3", "2.4"):
        schedules += [Schedule((whole(LEAVES, after),), spec) for after in (0, 1, 3)]
        schedules += [
            Schedule((replace(whole(Ending.LEAVES_AT_END), replies=replies),), spec) for replies in (1, 2)
        ]
    schedules += [Schedule((whole(Ending.REFUSED),)), Schedule((whole(Ending.BREAKS, 1),))]
    schedules += [Schedule((whole(LEAVES, 1),), extra=Extra.LATE_REPLIES)]
    schedules += [Schedule((Client(False, 2),), extra=Extra.LATE_REPLIES)]
    schedules += [
        Schedule((whole(LEAVES, 1),), extra=extra) for extra in (Extra.ABORT_FIRST, Extra.ABORT_AFTER)
    ]
    schedules += [
        Schedule((whole(LEAVES, 1), longer)),
        Schedule((whole(LEAVES, 0), replace(longer, start=1), Client(True, 4, start=2))),
        Schedule((longer, replace(whole(LEAVES, 2), start=1), replace(whole(LEAVES, 0), start=2))),
        Schedule((whole(LEAVES, 0), Client(False, 1, start=6))),
        Schedule((whole(Ending.REFUSED), longer)),
    ]
    return schedules


def _random(rng: random.Random) -> Schedule:
    """Some of its clients stream, and stay."""
    schedule = random_schedule(rng, ENDINGS)
    clients = [
        each if each.ending is STAYS or not each.stream else replace(each, stream=False)
        for each in schedule.clients
    ]
    return replace(schedule, clients=tuple(clients))
