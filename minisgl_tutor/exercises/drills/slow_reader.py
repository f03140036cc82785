"""Chapter 5, exercise 11: what waits for a client that does not read has a bound (C5.168 to C5.172)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from types import ModuleType

from msgspec.structs import replace

from ...message import AbortMsg
from ...recording import Recording
from ...server.frontend import FrontendManager
from ..drill import Found, Reader, Say, in_virtual_time
from ..reader_file import the_class
from .front import Front, reply
from .lifecycle.kept import MANY
from .scene import STEP_US, Client, Scene, told
from .scene_drill import WRONG_ANSWER, Case, SceneDrill, other_answer
from .stage import (
    FAILS,
    GROWS,
    LAST_US,
    LEFT_BEHIND,
    MADE_FOR_NOBODY,
    UNANSWERED,
    MessageSeen,
    StageJob,
    StageSeen,
    left_behind,
    name_of,
)

RUNS_ON, TOO_LATE, TOO_EARLY, CUT, ABORTS = "runs-on", "too-late", "too-early", "cut", "aborts"
HOLE, LOOKS_WHOLE, NOT_TOLD, HELD_UP = "hole", "looks-whole", "not-told", "held-up"

LATE_REPLIES = "late-replies"
MORE = 3
"""So many times the limit comes before the abort has got anywhere."""

LIMIT = 4
"""Replies that may wait for a client."""

SLACK = 3
"""Replies by which a request may end earlier or later: where the count begins is a matter of design."""

GIVES_UP_MS = 600_000
"""When a reader that is still not served leaves: time enough to take all that may wait, piece by piece."""


class LateReplies(StageJob, frozen=True, tag=True):
    """The front end alone: a client takes one reply, and the others come before the abort has an effect."""


class SlowReaderDrill(SceneDrill):
    """Readers that stop, that are slow, and that are not, on a front end with little patience."""

    job_type = StageJob | LateReplies
    checks = (
        "stops-reading",
        "reads-slowly",
        "reads-at-once",
        "a-little-behind",
        "not-streaming",
        "leaves",
        "two-slow",
        LATE_REPLIES,
        "neighbours",
        "at-random",
    )
    faults = (
        FAILS,
        RUNS_ON,
        TOO_LATE,
        TOO_EARLY,
        CUT,
        ABORTS,
        HOLE,
        LOOKS_WHOLE,
        NOT_TOLD,
        UNANSWERED,
        WRONG_ANSWER,
        HELD_UP,
        MADE_FOR_NOBODY,
        LEFT_BEHIND,
        GROWS,
    )

    def find(self, module: ModuleType, file: str) -> type[FrontendManager]:
        return the_class(module, FrontendManager, file, ("file_reply",))

    def fixed(self) -> Iterator[Case]:
        answer = self.maker.answer
        stops = Client(answer(30), chunk_ms=15_000, leaves_ms=GIVES_UP_MS)
        slow = Client(answer(30), chunk_ms=1_500, leaves_ms=GIVES_UP_MS)
        yield Case("stops-reading", _scene(stops))
        yield Case("stops-reading", _scene(stops, limit=1))  # as many come again before the abort is there
        yield Case("reads-slowly", _scene(slow))
        yield Case("reads-at-once", _scene(Client(answer(40))))
        yield Case("reads-at-once", _scene(Client(answer(3)), Client(answer(20), start=2)))
        behind = Client(answer(14), chunk_ms=350, leaves_ms=GIVES_UP_MS)
        yield Case("a-little-behind", _scene(behind, limit=16))
        yield Case("a-little-behind", _scene(replace(behind, answer=answer(5), chunk_ms=300), limit=8))
        yield Case("not-streaming", _scene(Client(answer(40), stream=False)))
        for leaves_ms in (250, 2_000):
            yield Case("leaves", _scene(replace(stops, leaves_ms=leaves_ms)))
        yield Case("two-slow", _scene(slow, replace(stops, start=3)))
        yield Case("two-slow", _scene(*(replace(slow, start=20 * uid) for uid in range(MANY))))
        yield Case(LATE_REPLIES, _scene(stops))
        yield Case("neighbours", _scene(stops, Client(answer(25), start=1)))
        whole = Client(answer(20), stream=False, start=6)
        yield Case(
            "neighbours", _scene(slow, Client(answer(12), start=2), whole, Client(answer(4), start=15))
        )
        yield Case("neighbours", _scene(*(Client(answer(12), start=uid) for uid in range(7))))

    def job(self, case: Case) -> StageJob:
        job = super().job(case)
        return LateReplies(job.recording) if case.check == LATE_REPLIES else job

    def play(self, reader: Reader, job: StageJob) -> StageSeen:
        if not isinstance(job, LateReplies):
            return super().play(reader, job)
        limit = job.recording.header.backlog_limit
        return in_virtual_time(lambda: _late_replies(reader.found, limit))

    def recording(self, case: Case) -> tuple[Recording, str] | None:
        return None if case.check == LATE_REPLIES else super().recording(case)

    def in_words(self, case: Case, say: Say) -> str:
        words = super().in_words(case, say)
        if case.check != LATE_REPLIES:
            return words
        limit = case.scene.backlog_limit
        return say("sentence end").join([words, say("late replies", limit=limit, count=MORE * limit)])

    def random_scene(self, rng: random.Random) -> Scene:
        clients = []
        for _ in range(rng.randint(1, 4)):
            length, start = rng.randint(1, 25), rng.randint(0, 6)
            client = Client(self.maker.answer(length), stream=rng.random() < 0.8, start=start)
            if client.stream and rng.random() < 0.5:
                chunk_ms = rng.randint(2_000, 15_000)
                client = replace(client, answer=self.maker.answer(30), chunk_ms=chunk_ms)
                client = replace(client, leaves_ms=GIVES_UP_MS)
            clients.append(client)
        clients.sort(key=lambda each: each.start)
        return _scene(*clients, limit=rng.choice((2, 4, 8)))

    def judge(self, case: Case, seen: StageSeen) -> Iterator[Found]:
        if case.check == LATE_REPLIES:
            yield from _aborts(0, seen)
            return
        yield from left_behind(seen)
        if seen.failed:
            return
        own, whole = self.maker.own(case.scene), self.maker.undisturbed(case.scene)
        for index, client in enumerate(case.scene.clients):
            if seen.clients[index].end == "waiting":
                continue
            if client.leaves_ms is not None and client.leaves_ms < GIVES_UP_MS:
                yield from _aborts(index, seen)
            elif _aborted(own, index):
                yield from _ended(index, case.scene.backlog_limit, seen, own, whole)
            else:
                yield from _served(index, seen, own, reads_at_once=not client.chunk_ms)


def _scene(*clients: Client, limit: int = LIMIT) -> Scene:
    return Scene(clients, backlog_limit=limit)


async def _late_replies(cls: type[FrontendManager], limit: int) -> StageSeen:
    """The aborts that are sent of a client that takes one reply."""
    front = Front(cls)
    frontend = front.frontend
    frontend.backlog_limit = limit
    uid = frontend.new_user()
    replies = frontend.wait_for_ack(uid)
    listening = asyncio.create_task(frontend.listen(), name="listen")
    front.inbox.send(reply(uid, "0"))
    await anext(replies)
    for number in range(MORE * limit):
        front.inbox.send(reply(uid, str(number)))
        await asyncio.sleep(0.001)
    listening.cancel()
    await asyncio.wait({listening})
    await replies.aclose()
    sent = [at_us for at_us, msg in front.box.sent if isinstance(msg, AbortMsg)]
    return StageSeen(messages=[MessageSeen(at_us, "AbortMsg", "tokenizer", 0) for at_us in sent])


def _aborted(seen: StageSeen, index: int) -> list[int]:
    """When aborts for a client were sent by the front end."""
    return [each.t_us for each in seen.messages if each.kind == "AbortMsg" and each.client == index]


def _aborts(index: int, seen: StageSeen) -> Iterator[Found]:
    times = _aborted(seen, index)
    if len(times) > 1:
        yield Found(ABORTS, {"request": name_of(index), "count": len(times)}, index, times[1])


def _ended(index: int, limit: int, seen: StageSeen, own: StageSeen, whole: StageSeen) -> Iterator[Found]:
    """What is wrong with how the request of a client that does not read was ended."""
    name = {"request": name_of(index), "limit": limit}
    client, due_us = seen.clients[index], _aborted(own, index)[0]
    # One that is sent because the client has given up is another matter.
    times = [at_us for at_us in _aborted(seen, index) if client.end != "left" or at_us < client.end_us]
    if not times:
        yield Found(RUNS_ON, name, index, due_us)
    elif abs(times[0] - due_us) > SLACK * STEP_US:
        count = round(abs(times[0] - due_us) / STEP_US)
        yield Found(TOO_LATE if times[0] > due_us else TOO_EARLY, {**name, "count": count}, index, times[0])
    yield from _aborts(index, seen)
    said, text = told(client.body), told(whole.clients[index].body).text
    if not text.startswith(said.text):
        yield Found(HOLE, {**name, "due": repr(text[:60]), "got": repr(said.text[:60])}, index, client.end_us)
    if said.reasons or (said.ended and not said.error):
        yield Found(LOOKS_WHOLE, {**name, "got": said.in_short(client.status)}, index, client.end_us)
    if client.end != "left" and not said.error:
        yield Found(NOT_TOLD, name, index, client.end_us)
    if client.end == "left":
        yield Found(UNANSWERED, name, index, LAST_US)


def _served(index: int, seen: StageSeen, own: StageSeen, reads_at_once: bool) -> Iterator[Found]:
    """What is wrong with the answer of a client that reads, and with when it came."""
    times = _aborted(seen, index)
    if times:
        yield Found(CUT, {"request": name_of(index)}, index, times[0])
    yield from other_answer(index, seen, own)
    end_us = seen.clients[index].end_us
    late_us = end_us - own.clients[index].end_us
    if reads_at_once and late_us > SLACK * STEP_US:
        yield Found(HELD_UP, {"request": name_of(index), "ms": late_us // 1000}, index, end_us)
