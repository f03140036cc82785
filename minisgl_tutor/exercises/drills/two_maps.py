"""Chapter 5, exercise 3: a list keeps what an event only announces (C5.52, C5.53, C5.71 to C5.73)."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import aclosing, suppress
from types import ModuleType

import msgspec

from ...message import BatchFrontendMsg
from ...server.frontend import FrontendManager
from ..drill import NEVER_ENDS, Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import the_class
from .front import PATIENCE_S, Counted, Front, reply

LOST, FOREIGN, ORDER, LATE, WAKES = "lost", "foreign", "order", "late", "wakes"

LATE_US = 50_000
"""A reply must have come out by then. In virtual time code itself takes none."""

SPARE_WAKES = 4
"""Times that a request's consumer may be resumed beyond one for each batch and one for each reply: a stream
of another library may give control up before each item."""


class Batch(msgspec.Struct, frozen=True):
    """Replies that arrive in one message, ``ms`` after the batch before. ``of``: whose each is; the last
    reply of a request is its finished one.
    """

    ms: int
    of: tuple[int, ...]


class Feed(msgspec.Struct, frozen=True):
    """A case: the batches that arrive for all requests. ``alike``: all replies of a request have one text;
    ``wordless``: those between its first and its last have none.

    ``handling_ms`` is what a consumer's caller takes over each reply before it asks for the next.
    """

    check: str
    batches: tuple[Batch, ...]
    alike: bool = False
    wordless: bool = False
    handling_ms: int = 0

    @property
    def requests(self) -> int:
        return 1 + max(index for batch in self.batches for index in batch.of)

    def replies(self) -> Iterator[tuple[int, int, str, bool]]:
        """Milliseconds, request, text, and whether it is the finished one."""
        left = [sum(batch.of.count(index) for batch in self.batches) for index in range(self.requests)]
        count = [0] * self.requests
        ms = 0
        for batch in self.batches:
            ms += batch.ms
            for index in batch.of:
                count[index] += 1
                text = "ABCDE"[index] + ("" if self.alike else str(count[index]))
                if self.wordless and 1 < count[index] < left[index]:
                    text = ""
                yield ms, index, text, count[index] == left[index]


class Taken(msgspec.Struct):
    """By request: what came out and when, and whether it ended. ``wakes``: how often consumers went on."""

    came: list[list[tuple[int, str]]]
    ended: list[bool]
    wakes: int


class TwoMapsDrill(Drill[Feed, Feed, Taken]):
    """Sends batches through the listener, and looks at what each request's consumer gets."""

    job_type = Feed
    seen_type = Taken
    checks = ("one-reply", "burst", "alike", "meanwhile", "idle", "two-requests", "at-random")
    faults = (FOREIGN, LOST, ORDER, NEVER_ENDS, LATE, WAKES)

    def find(self, module: ModuleType, file: str) -> type[FrontendManager]:
        return the_class(module, FrontendManager, file, ("file_reply", "wait_for_ack"))

    def cases(self, rng: random.Random) -> Sequence[Feed]:
        fixed = [
            Feed("one-reply", (Batch(0, (0,)),)),
            Feed("one-reply", (Batch(20, (0,)),)),
            Feed("burst", (Batch(10, (0, 0)),)),
            Feed("burst", (Batch(10, (0, 0, 0, 0, 0)), Batch(10, (0,)))),
            Feed("burst", (Batch(10, (0,) * 20),)),
            Feed("alike", (Batch(10, (0, 0, 0)), Batch(10, (0,))), alike=True),
            Feed("alike", (Batch(10, (0, 0)), Batch(10, (0, 0)), Batch(10, (0,))), wordless=True),
            Feed("meanwhile", (Batch(10, (0, 0)), Batch(15, (0,)), Batch(10, (0, 0))), handling_ms=20),
            Feed("idle", (Batch(10, (0,)), Batch(200, (0,)), Batch(400, (0,)))),
            Feed("two-requests", (Batch(10, (0,)), Batch(10, (1,)), Batch(10, (1,)), Batch(10, (0,)))),
            Feed("two-requests", (Batch(10, (0, 1, 1, 0)), Batch(10, (0, 1, 0)))),
        ]
        return [*fixed, *(_random_feed(rng) for _ in range(16))]

    def play(self, reader: Reader, job: Feed) -> Taken:
        return in_virtual_time(lambda: _play(reader.found, job))

    def judge(self, case: Feed, seen: Taken) -> Iterator[Found]:
        for index in range(case.requests):
            due = [(ms * 1000, text) for ms, of, text, _ in case.replies() if of == index]
            yield from _of_one(index, due, seen, LATE_US + case.handling_ms * 1000 * len(due))
        replies = sum(len(batch.of) for batch in case.batches)
        most = (len(case.batches) + SPARE_WAKES) * case.requests + replies
        if seen.wakes > most:
            yield Found(WAKES, {"count": seen.wakes, "most": most})

    def check_of(self, case: Feed, fault: str) -> str:
        return case.check

    def in_words(self, case: Feed, say: Say) -> str:
        texts: dict[int, list[str]] = {}
        for ms, _, text, _ in case.replies():
            texts.setdefault(ms, []).append(_shown(text))
        words = [say("batch", ms=ms, texts=" ".join(each)) for ms, each in texts.items()]
        if case.handling_ms:
            words.append(say("handling", ms=case.handling_ms))
        return say("sentence end").join(words)

    def size(self, case: Feed) -> tuple[int, ...]:
        return case.requests, len(case.batches), sum(len(batch.of) for batch in case.batches)


def _of_one(index: int, due: list[tuple[int, str]], seen: Taken, late_us: int) -> Iterator[Found]:
    texts, came = [text for _, text in due], [text for _, text in seen.came[index]]
    values = {
        "request": "ABCDE"[index],
        "due": " ".join(map(_shown, texts)),
        "got": " ".join(map(_shown, came)) or "-",
    }
    if set(came) - set(texts):
        yield Found(FOREIGN, values)
    elif came != texts:
        yield Found(LOST if Counter(texts) - Counter(came) else ORDER, values)
    elif not seen.ended[index]:
        yield Found(NEVER_ENDS, {"what": "consumer", **values})
    else:
        late = max(at_us - due_us for (at_us, _), (due_us, _) in zip(seen.came[index], due, strict=True))
        if late > late_us:
            yield Found(LATE, {"ms": late // 1000, **values})


def _shown(text: str) -> str:
    return text or '""'


async def _play(cls: type[FrontendManager], feed: Feed) -> Taken:
    front = Front(cls)
    loop = asyncio.get_running_loop()
    uids = [front.frontend.new_user() for _ in range(feed.requests)]
    taken = Taken([[] for _ in uids], [False for _ in uids], 0)
    tally = [0]

    async def consume(index: int) -> None:
        async with aclosing(front.frontend.wait_for_ack(uids[index])) as replies:
            with suppress(StopAsyncIteration):
                while True:
                    each = await Counted(anext(replies), tally)
                    at_us = round(loop.time() * 1e6)
                    taken.came[index].append((at_us, getattr(each, "incremental_output", "")))
                    if getattr(each, "finished", True):
                        break
                    if feed.handling_ms:
                        await asyncio.sleep(feed.handling_ms / 1000)
        taken.ended[index] = True

    async def feed_all() -> None:
        replies = feed.replies()
        for batch in feed.batches:
            await asyncio.sleep(batch.ms / 1000)
            of_it = [next(replies) for _ in batch.of]
            front.inbox.send(
                BatchFrontendMsg(data=[reply(uids[index], text, last) for _, index, text, last in of_it])
            )

    listening = asyncio.create_task(front.frontend.listen(), name="listen")
    consumers = [asyncio.create_task(consume(index)) for index in range(len(uids))]
    feeding = asyncio.create_task(feed_all())
    done, _ = await asyncio.wait({listening, *consumers}, timeout=PATIENCE_S, return_when="FIRST_EXCEPTION")
    for task in done:
        task.result()
    feeding.cancel()
    taken.wakes = tally[0]
    return taken


def _random_feed(rng: random.Random) -> Feed:
    requests = rng.randint(2, 5)
    of = [index for index in range(requests) for _ in range(rng.randint(1, 5))]
    rng.shuffle(of)
    batches = []
    while of:
        size = rng.randint(1, 6)
        batches.append(Batch(rng.randint(1, 30), tuple(of[:size])))
        del of[:size]
    return Feed("at-random", tuple(batches))
