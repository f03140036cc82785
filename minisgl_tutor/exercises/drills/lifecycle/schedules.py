"""Exercise 7: the schedules that are tried, from the simplest to the random ones."""

from __future__ import annotations

import random
from collections.abc import Iterator

from msgspec.structs import replace

from .kept import MANY
from .schedule import (
    ANY,
    ANY_RECORDED,
    LONG_STEPS,
    Client,
    Ending,
    Extra,
    Schedule,
    client,
    random_schedule,
)

RANDOM_ON_STAGE = 10
RANDOM_ON_DESK = 6


def schedules(rng: random.Random) -> list[Schedule]:
    """The fixed schedules, then random ones that ``rng`` alone determines."""
    on_stage = [random_schedule(rng, ANY_RECORDED) for _ in range(RANDOM_ON_STAGE)]
    on_desk = [random_schedule(rng, ANY) for _ in range(RANDOM_ON_DESK)]
    return [*fixed(), *on_stage, *on_desk]


def fixed() -> list[Schedule]:
    return [*_ends(), *_leaves(), *_fails(), *_meets(), *_neighbours(), *one_after_another()]


def _ends() -> Iterator[Schedule]:
    for stream in (True, False):
        yield Schedule((client(stream),))
        yield Schedule((Client(stream, 3),))
        yield Schedule((Client(stream, 1),), extra=Extra.ANOTHER_REPLY)
        yield Schedule((Client(stream, 2),), extra=Extra.LATE_REPLIES)
        yield Schedule((Client(stream, 2, pauses=(0, LONG_STEPS)),))
        yield Schedule((Client(stream, 2),), extra=Extra.ANOTHER_MESSAGE)


def _leaves() -> Iterator[Schedule]:
    for spec in ("2.3", "2.4"):
        for after in (0, 2):
            yield Schedule((client(True, Ending.LEAVES_WAITING, after),), spec)
            yield Schedule((client(False, Ending.LEAVES_WAITING, after),), spec)
            yield Schedule((client(True, Ending.LEAVES_WRITING, after),), spec)
        for after in (1, 3):  # with 3 there are replies that it has not read
            yield Schedule((client(True, Ending.LEAVES_STUCK, after),), spec)
    for stream in (True, False):
        for extra in (Extra.LATE_REPLIES, Extra.ANOTHER_MESSAGE):
            yield Schedule((client(stream, Ending.LEAVES_WAITING, 1),), extra=extra)


def _fails() -> Iterator[Schedule]:
    for stream in (True, False):
        yield Schedule((client(stream, Ending.UNSENT),))
        yield Schedule((client(stream, Ending.UNSENT),), extra=Extra.SEND_CANCELLED)
        yield Schedule((client(stream, Ending.REFUSED),))
        yield Schedule((client(stream, Ending.BREAKS, 1),))
        yield Schedule((client(stream, Ending.LEAVES_WAITING, 1),), extra=Extra.ABORT_UNSENT)
    for after in (0, 1):
        yield Schedule((replace(client(True, Ending.UNENCODABLE, after), replies=after + 3),))
    yield Schedule((client(False, Ending.UNENCODABLE),))


def _meets() -> Iterator[Schedule]:
    for stream in (True, False):
        for replies in (1, 2):
            yield Schedule((replace(client(stream, Ending.LEAVES_AT_END), replies=replies),))
    for extra in (Extra.ABORT_FIRST, Extra.ABORT_AFTER):
        yield Schedule((client(True, Ending.LEAVES_AT_END),), extra=extra)
        yield Schedule((client(True, Ending.LEAVES_WAITING, 1),), extra=extra)
    yield Schedule((client(True),), extra=Extra.ABORT_AT_END)


def _neighbours() -> Iterator[Schedule]:
    stream, whole = Client(True, 4), Client(False, 5)
    yield Schedule((Client(True, 1), Client(True, 2)))
    yield Schedule((Client(True, 2), Client(False, 3)))
    for ending in (Ending.LEAVES_WAITING, Ending.REFUSED, Ending.UNSENT, Ending.BREAKS):
        yield Schedule((client(True, ending, int(ending is Ending.BREAKS)), stream, whole))
    yield Schedule(
        (client(False, Ending.LEAVES_WAITING, 1), replace(stream, start=1), replace(whole, start=2))
    )
    # One comes while replies are still under way for another that has ended: they are not its own.
    yield Schedule((Client(True, 1), Client(True, 3, start=2)), extra=Extra.LATE_REPLIES)
    leaving = client(True, Ending.LEAVES_WAITING, 1)
    yield Schedule((leaving, Client(True, 3, start=2)), extra=Extra.LATE_REPLIES)
    # One comes when another has ended, or has left: the listener must have lived on.
    yield Schedule((Client(True, 1), Client(False, 1, start=4)))
    yield Schedule((client(True, Ending.LEAVES_WAITING, 0), Client(True, 1, start=6)))


def one_after_another() -> Iterator[Schedule]:
    """Requests that are alike, each of which comes when the one before has ended."""
    for ending in (Ending.STAYS, Ending.LEAVES_WAITING):
        for stream in (True, False):
            each = client(stream, ending)
            yield Schedule(tuple(replace(each, start=8 * place) for place in range(MANY)))
