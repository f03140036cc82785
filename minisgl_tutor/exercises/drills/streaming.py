"""Chapter 5, concepts, exercise 6: what streaming improves, and what it does not (K5.31, K5.32, C5.108)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from types import ModuleType
from typing import Any

import msgspec

from ...recording import Recording
from ...server.frontend import FrontendManager
from ..drill import Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import the_class, the_function
from .events import events
from .measures import (
    NO_REPORT,
    R_FIRST,
    R_FORWARDS,
    R_TEXT,
    R_TOTAL,
    Reads,
    Report,
    fixed_reads,
    measured,
    random_reads,
    short,
    wrong_in,
)
from .scene import Client, Scene, told
from .scene_drill import WRONG_ANSWER, Case, SceneDrill, other_answer
from .stage import FAILS, LAST_US, UNANSWERED, StageJob, StageSeen, failed, name_of, on_stage

FIRST, LATER, FORWARDS, LONGER, ROLE = "first", "later", "forwards", "longer", "role"
AT_ONCE_US = 20_000


class Seen(msgspec.Struct):
    """Of a scene or of reads."""

    stage: StageSeen | None = None
    report: Report | None = None


class Scenes(SceneDrill):
    """Clients of the whole server, some of which want their answer streamed."""

    def fixed(self) -> Iterator[Case]:
        answer = self.maker.answer(8)
        for overlap in (True, False):
            yield Case("first-content", Scene((Client(answer),), overlap=overlap))
        yield Case("first-content", Scene((Client(self.maker.answer(1)),)))
        yield Case("both-ways", Scene((Client(answer), Client(answer, stream=False, start=12))))
        yield Case("both-ways", Scene((Client(answer, stream=False),)))
        several = (Client(answer), Client(self.maker.answer(12), stream=False), Client(answer, start=3))
        yield Case("side-by-side", Scene(several))

    def find(self, module: ModuleType, file: str) -> type:
        return the_class(module, FrontendManager, file, ("stream_chat_completions",))

    def judge(self, case: Case, seen: StageSeen) -> Iterator[Found]:
        yield from failed(seen)
        if seen.failed:
            return
        own = self.maker.own(case.scene)
        for index, client in enumerate(case.scene.clients):
            yield from _of_client(index, client, seen, own)

    def random_scene(self, rng: random.Random) -> Scene:
        clients = [
            Client(self.maker.answer(rng.randint(1, 12)), stream=rng.random() < 0.7, start=rng.randint(0, 5))
            for _ in range(rng.randint(1, 4))
        ]
        return Scene(tuple(sorted(clients, key=lambda each: each.start)), 1, rng.random() < 0.6)


class StreamingDrill(Drill[Case | Reads, StageJob | Reads, Seen]):
    """Plays the reader's front end on the whole server, and gives reads of an answer to ``measure``."""

    job_type = StageJob | Reads
    seen_type = Seen
    checks = (
        "first-content",
        "both-ways",
        "side-by-side",
        "report-streamed",
        "report-whole",
        "report-cut",
        "at-random",
    )
    faults = (
        FAILS,
        UNANSWERED,
        FORWARDS,
        WRONG_ANSWER,
        FIRST,
        LATER,
        LONGER,
        ROLE,
        NO_REPORT,
        R_TEXT,
        R_FIRST,
        R_TOTAL,
        R_FORWARDS,
    )

    def prepare(self) -> None:
        self._scenes.prepare()

    def find(self, module: ModuleType, file: str) -> Any:
        self._scenes.find(module, file)
        return the_function(module, "measure", file)

    def cases(self, rng: random.Random) -> Sequence[Case | Reads]:
        at_random = [random_reads(rng) for _ in range(8)]
        return [*self._scenes.fixed(), *fixed_reads(), *self._scenes.cases(rng)[-8:], *at_random]

    def job(self, case: Case | Reads) -> StageJob | Reads:
        return case if isinstance(case, Reads) else self._scenes.job(case)

    def play(self, reader: Reader, job: StageJob | Reads) -> Seen:
        if isinstance(job, Reads):
            return Seen(report=in_virtual_time(lambda: measured(reader.found, job)))
        return Seen(on_stage(job.recording, self._scenes.maker.tokenizer, reader))

    def judge(self, case: Case | Reads, seen: Seen) -> Iterator[Found]:
        if isinstance(case, Reads):
            if seen.report is not None:
                yield from wrong_in(case, seen.report)
        elif seen.stage is not None:
            yield from self._scenes.judge(case, seen.stage)

    def check_of(self, case: Case | Reads, fault: str) -> str:
        return case.check

    def in_words(self, case: Case | Reads, say: Say) -> str:
        if isinstance(case, Case):
            return self._scenes.in_words(case, say)
        reads = "; ".join(f"{ms} ms {short(data)}" for ms, data in case.reads[:4])
        return say("reads", count=len(case.reads), reads=reads, total=case.total_ms)

    def size(self, case: Case | Reads) -> tuple[int, ...]:
        return (len(case.reads),) if isinstance(case, Reads) else self._scenes.size(case)

    def smaller(self, case: Case | Reads) -> Iterator[Case | Reads]:
        if isinstance(case, Case):
            yield from self._scenes.smaller(case)

    def recording(self, case: Case | Reads) -> tuple[Recording, str] | None:
        return self._scenes.recording(case) if isinstance(case, Case) else None

    @cached_property
    def _scenes(self) -> Scenes:
        return Scenes()


def _of_client(index: int, client: Client, seen: StageSeen, own: StageSeen) -> Iterator[Found]:
    name = {"request": name_of(index)}
    got, due = seen.clients[index], own.clients[index]
    if got.end == "waiting":
        yield Found(UNANSWERED, name, index, LAST_US)
        return
    steps, due_steps = (sum(index in each[1] for each in play.forwards) for play in (seen, own))
    if steps != due_steps:
        yield Found(FORWARDS, {**name, "steps": steps, "due": due_steps}, index, LAST_US)
    yield from other_answer(index, seen, own)
    if told(got.body) != told(due.body):
        return
    if client.stream:
        yield from _as_it_comes(index, seen)
    late_us = got.end_us - due.end_us
    if late_us > AT_ONCE_US:
        yield Found(LONGER, {**name, "ms": late_us // 1000}, index, got.end_us)
    roles = [place for place, each in enumerate(events(got.pieces)[0]) if '"role"' in each.data]
    if client.stream and roles != [0]:
        yield Found(ROLE, {**name, "count": len(roles)}, index, got.end_us)


def _as_it_comes(index: int, seen: StageSeen) -> Iterator[Found]:
    came = [
        (event.at_us, len(told(f"data: {event.data}\n\n".encode()).text))
        for event in events(seen.clients[index].pieces)[0]
    ]
    replies = [
        (each.t_us, len(each.text))
        for each in seen.messages
        if each.kind == "UserReply" and each.client == index and each.text
    ]
    for place, (t_us, due) in enumerate(zip(*_summed(replies), strict=True)):
        at_us = next((at for at, length in zip(*_summed(came), strict=True) if length >= due), LAST_US)
        if at_us > t_us + AT_ONCE_US:
            values = {
                "request": name_of(index),
                "ms": at_us // 1000,
                "due": t_us // 1000,
                "number": place + 1,
            }
            yield Found(LATER if place else FIRST, values, index, at_us)
            return


def _summed(parts: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    """The times, and how much there is by each."""
    return [at for at, _ in parts], list(accumulate(length for _, length in parts))
