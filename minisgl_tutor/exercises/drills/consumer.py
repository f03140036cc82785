"""Chapter 5, exercise 4: wait, clear, take and replace, yield (C5.64, C5.69 to C5.71)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from types import ModuleType

import msgspec

from ...server.frontend import FrontendManager
from ..drill import NEVER_ENDS, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import the_class
from .front import PATIENCE_S, Counted, Front, reply

LOST, ORDER, AFTER_THE_END, WAKES = "lost", "order", "after-the-end", "wakes"

SPARE_WAKES = 2
"""Times that a consumer may wake up beyond one for each burst."""


class Burst(msgspec.Struct, frozen=True):
    """``size`` replies that are filed at one instant: the first burst before all else, another one ``at``
    turns of the loop, or ``ms`` milliseconds, after the one before it, or while the consumer's caller
    handles item ``while_handling``. ``finished``: the place of the finished reply, -1 for none.
    """

    size: int
    at: int = 0
    ms: int = 0
    while_handling: int | None = None
    finished: int = -1


class Feed(msgspec.Struct, frozen=True):
    """A case: what is filed for one request, in order."""

    check: str
    bursts: tuple[Burst, ...]

    @property
    def due(self) -> list[str]:
        """The replies that must come out: up to the finished one."""
        texts: list[str] = []
        for burst in self.bursts:
            for place in range(burst.size):
                texts.append(f"r{len(texts)}")
                if place == burst.finished:
                    return texts
        return texts


class Taken(msgspec.Struct):
    """What came out, whether the generator ended, and how often the consumer was resumed."""

    texts: list[str]
    ended: bool
    wakes: int


class ConsumerDrill(Drill[Feed, Feed, Taken]):
    """Files bursts of replies at chosen instants, and looks at what ``wait_for_ack`` gives."""

    job_type = Feed
    seen_type = Taken
    checks = (
        "burst-first",
        "burst-meanwhile",
        "every-turn",
        "idle",
        "finished-alone",
        "finished-amid",
        "at-random",
    )
    faults = (LOST, ORDER, AFTER_THE_END, NEVER_ENDS, WAKES)

    def find(self, module: ModuleType, file: str) -> type[FrontendManager]:
        return the_class(module, FrontendManager, file, ("wait_for_ack",))

    def cases(self, rng: random.Random) -> Sequence[Feed]:
        def ends(*bursts: Burst) -> tuple[Burst, ...]:
            return (*bursts, Burst(1, at=3, finished=0))

        fixed = [
            Feed("burst-first", ends(Burst(2))),
            Feed("burst-first", ends(Burst(5))),
            Feed("burst-meanwhile", ends(Burst(3), Burst(2, while_handling=1))),
            Feed("burst-meanwhile", ends(Burst(1), Burst(1, while_handling=0), Burst(2, while_handling=1))),
            *(
                Feed("every-turn", ends(Burst(1), Burst(1, at=turns), Burst(2, at=turns)))
                for turns in range(6)
            ),
            Feed("idle", (Burst(1), Burst(1, ms=200), Burst(1, ms=200, finished=0))),
            Feed("finished-alone", (Burst(1, finished=0),)),
            Feed("finished-alone", (Burst(2), Burst(1, at=4, finished=0))),
            Feed("finished-amid", (Burst(3, finished=1),)),
            Feed("finished-amid", (Burst(2), Burst(4, while_handling=1, finished=2))),
        ]
        return [*fixed, *(_random_feed(rng) for _ in range(20))]

    def play(self, reader: Reader, job: Feed) -> Taken:
        return in_virtual_time(lambda: _play(reader.found, job))

    def judge(self, case: Feed, seen: Taken) -> Iterator[Found]:
        due = case.due
        values = {"due": " ".join(due), "got": " ".join(seen.texts) or "-"}
        if seen.texts[: len(due)] != due:
            yield Found(LOST if set(due) - set(seen.texts) else ORDER, values)
        elif len(seen.texts) > len(due):
            yield Found(AFTER_THE_END, values)
        if not seen.ended:
            yield Found(NEVER_ENDS, {"what": "consumer", **values})
        most = len(case.bursts) + SPARE_WAKES
        if seen.wakes > most:
            yield Found(WAKES, {"count": seen.wakes, "most": most})

    def check_of(self, case: Feed, fault: str) -> str:
        return case.check

    def in_words(self, case: Feed, say: Say) -> str:
        return say("sentence end").join(_in_words(burst, say) for burst in case.bursts)

    def size(self, case: Feed) -> tuple[int, ...]:
        return len(case.bursts), sum(burst.size for burst in case.bursts)


async def _play(cls: type[FrontendManager], feed: Feed) -> Taken:
    front = Front(cls).frontend
    uid = front.new_user()
    taken = Taken([], False, 0)
    tally = [0]
    count = 0

    def file(burst: Burst) -> None:
        nonlocal count
        for place in range(burst.size):
            if uid in front.ack_map:
                front.file_reply(reply(uid, f"r{count}", place == burst.finished))
            count += 1

    by_item = {burst.while_handling: burst for burst in feed.bursts if burst.while_handling is not None}

    async def consume() -> None:
        async with aclosing(front.wait_for_ack(uid)) as replies:
            with suppress(StopAsyncIteration):
                while True:
                    each = await Counted(anext(replies), tally)
                    taken.texts.append(getattr(each, "incremental_output", ""))
                    if burst := by_item.get(len(taken.texts) - 1):
                        file(burst)
                        await asyncio.sleep(0)
        taken.ended = True

    async def feed_all() -> None:
        for burst in feed.bursts[1:]:
            if burst.while_handling is None:
                await asyncio.sleep(burst.ms / 1000)
                for _ in range(burst.at):
                    await asyncio.sleep(0)
                file(burst)

    file(feed.bursts[0])
    with suppress(TimeoutError):
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(consume(), feed_all())
    taken.wakes = tally[0]
    return taken


def _random_feed(rng: random.Random) -> Feed:
    bursts = [Burst(rng.randint(1, 4))]
    for _ in range(rng.randint(0, 4)):
        items = sum(burst.size for burst in bursts)
        handling = rng.randrange(items) if rng.random() < 0.4 else None
        taken = {burst.while_handling for burst in bursts}
        handling = None if handling in taken else handling
        bursts.append(Burst(rng.randint(1, 4), at=rng.randint(0, 5), while_handling=handling))
    return Feed("at-random", (*bursts, Burst(1, at=rng.randint(0, 3) + 8, finished=0)))


def _in_words(burst: Burst, say: Say) -> str:
    when = "first" if burst.at == 0 else "after turns"
    if burst.ms:
        when = "after time"
    if burst.while_handling is not None:
        when = "while handling"
    text = say(when, size=burst.size, turns=burst.at, ms=burst.ms, item=burst.while_handling)
    return text if burst.finished < 0 else text + say("finished is", place=burst.finished + 1)
