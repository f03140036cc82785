"""Chapter 5, concepts, exercise 7: the layers that a cancel passes (C5.142, C5.148, C5.149, K5.41 to 45)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from types import ModuleType

import msgspec

from ...links import MemoryChannel, MemoryPull, MemoryPush
from ...message import AbortBackendMsg, AbortMsg, SamplingParams, TokenizeMsg, UserMsg
from ...recording import DisconnectLine, Recording, RequestLine
from ...scheduler.scheduler import Scheduler
from ...server.frontend import FrontendManager
from ...tokenizer.detokenize import DetokenizeManager
from ...tokenizer.server import TokenizeWorker
from ...tokenizer.tokenize import TokenizeManager
from ...tokenizer.tokenizer import Tokenizer
from ..drill import Found, Reader, Say
from ..reader_file import check_own, the_class
from .scene import STEP_US, Client, Scene
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

NO_ABORT, NOT_PASSED_ON, ABORT_EXTRA = "no-abort", "not-passed-on", "abort-extra"
OVERTAKES = "overtakes"

ONE_BATCH = "one-batch"

SOON_US = 3 * STEP_US


class OneBatch(StageJob, frozen=True, tag=True):
    """The tokenizer worker alone: all requests of the recording and all aborts lie before its round."""


class CancelDrill(SceneDrill):
    """Clients of a server whose front end, tokenizer worker and scheduler are the reader's."""

    job_type = StageJob | OneBatch
    checks = (
        "stays",
        "running",
        "waiting",
        "half-computed",
        "not-streaming",
        "neighbours",
        "slots",
        ONE_BATCH,
        "at-random",
    )
    faults = (
        FAILS,
        UNANSWERED,
        WRONG_ANSWER,
        NO_ABORT,
        NOT_PASSED_ON,
        ABORT_EXTRA,
        OVERTAKES,
        MADE_FOR_NOBODY,
        LEFT_BEHIND,
        GROWS,
    )

    def find(self, module: ModuleType, file: str) -> list[type]:
        bases = (FrontendManager, TokenizeWorker, Scheduler)
        classes: list[type] = [the_class(module, base, file) for base in bases]
        check_own(classes, bases, file)
        return classes

    def fixed(self) -> Iterator[Case]:
        answer = self.maker.answer(8)
        for stream in (True, False):
            yield Case("stays", Scene((Client(answer, stream=stream),)))
        for overlap in (True, False):
            yield Case("running", Scene((Client(answer, leaves_ms=350),), overlap=overlap))
            yield Case("running", Scene((Client(answer, leaves_ms=150),), overlap=overlap))
        others = tuple(Client(self.maker.answer(12)) for _ in range(8))
        late = Client(answer, leaves_ms=250, start=2)
        yield Case("waiting", Scene((*others, late)))  # all slots are taken
        long = Client(answer, prompt=self.maker.prompt(64), leaves_ms=250)
        yield Case("half-computed", Scene((long, Client(answer)), prefill_budget=8))
        # What is kept of them shows once it is all that there is.
        one_by_one = [msgspec.structs.replace(long, start=4 * each) for each in range(9)]
        last = Client(answer, start=40)
        yield Case("half-computed", Scene((*one_by_one, last), prefill_budget=8))
        yield Case("not-streaming", Scene((Client(answer, stream=False, leaves_ms=350),)))
        yield Case("neighbours", Scene((Client(answer), Client(answer, leaves_ms=350))))
        yield Case("neighbours", Scene((Client(answer, leaves_ms=150), Client(answer, start=4)), 2))
        many = [Client(answer, leaves_ms=250, start=3 * each) for each in range(10)]
        yield Case("slots", Scene((*many, Client(answer, start=31))))
        yield Case("slots", Scene(tuple(many)))
        at_once = Client(answer, leaves_ms=0)
        yield Case(ONE_BATCH, Scene((at_once,)))
        yield Case(ONE_BATCH, Scene((Client(answer), at_once, Client(answer))))

    def random_scene(self, rng: random.Random) -> Scene:
        clients = []
        for _ in range(rng.randint(2, 5)):
            length = rng.randint(4, 9)
            leaves_ms = rng.randrange(20, 100 * length - 250, 10) if rng.random() < 0.6 else None
            stream = rng.random() < 0.7
            answer = self.maker.answer(length)
            clients.append(Client(answer, stream=stream, start=rng.randint(0, 4), leaves_ms=leaves_ms))
        clients.sort(key=lambda each: each.start)
        return Scene(tuple(clients), rng.randint(1, 2), rng.random() < 0.6)

    def job(self, case: Case) -> StageJob:
        job = super().job(case)
        return OneBatch(job.recording) if case.check == ONE_BATCH else job

    def play(self, reader: Reader, job: StageJob) -> StageSeen:
        if not isinstance(job, OneBatch):
            return super().play(reader, job)
        worker = next(cls for cls in reader.found if issubclass(cls, TokenizeWorker))
        return StageSeen(messages=list(_one_round(worker, job.recording, self.maker.tokenizer)))

    def recording(self, case: Case) -> tuple[Recording, str] | None:
        return None if case.check == ONE_BATCH else super().recording(case)

    def in_words(self, case: Case, say: Say) -> str:
        words = super().in_words(case, say)
        return say("sentence end").join([words, say("one batch")]) if case.check == ONE_BATCH else words

    def judge(self, case: Case, seen: StageSeen) -> Iterator[Found]:
        if case.check == ONE_BATCH:
            yield from _out_of_order(case.scene, seen)
            return
        yield from left_behind(seen)
        if seen.failed:
            return
        own = self.maker.own(case.scene)
        for index, client in enumerate(case.scene.clients):
            values = {"request": name_of(index)}
            sent = _count(seen, "AbortMsg", index)
            due = int(client.leaves_ms is not None)
            if sent < due:
                yield Found(NO_ABORT, values, index, LAST_US)
            elif sent > due:
                yield Found(ABORT_EXTRA, {**values, "count": sent, "most": due}, index, LAST_US)
            elif due and not _count(seen, "AbortBackendMsg", index):
                yield Found(NOT_PASSED_ON, values, index, LAST_US)
            if not due:
                yield from other_answer(index, seen, own)
            else:
                yield from _long_after(index, seen)


def _one_round(
    cls: type[TokenizeWorker], recording: Recording, tokenizer: Tokenizer
) -> Iterator[MessageSeen]:
    """What the scheduler is sent in it."""
    inbox, backend, frontend = (MemoryChannel(name) for name in (">tokenizer", ">scheduler", ">api"))
    push = MemoryPush(inbox)
    for line in recording.lines:
        if isinstance(line, RequestLine):
            push.put(TokenizeMsg(uid=line.rid, text=line.body, sampling_params=SamplingParams()))
        elif isinstance(line, DisconnectLine):
            push.put(AbortMsg(uid=line.rid))
    managers = TokenizeManager(tokenizer), DetokenizeManager(tokenizer)
    cls(MemoryPull(inbox), MemoryPush(backend), MemoryPush(frontend), *managers).round(blocking=False)
    for msg in MemoryPull(backend).drain(False):
        if isinstance(msg, UserMsg | AbortBackendMsg):
            yield MessageSeen(0, type(msg).__name__, "scheduler", msg.uid)


def _out_of_order(scene: Scene, seen: StageSeen) -> Iterator[Found]:
    """Behind a request that is passed on its abort is, too. Both may be left out."""
    for index, client in enumerate(scene.clients):
        kinds = [each.kind for each in seen.messages if each.client == index]
        if client.leaves_ms is not None and "UserMsg" in kinds and kinds[-1] != "AbortBackendMsg":
            fault = OVERTAKES if "AbortBackendMsg" in kinds else NOT_PASSED_ON
            yield Found(fault, {"request": name_of(index)}, index)


def _long_after(index: int, seen: StageSeen) -> Iterator[Found]:
    """What was under way when a client left is over soon; a prompt that is computed later was not."""
    over_us = seen.clients[index].end_us + SOON_US
    later = [at_us for at_us, clients in seen.forwards if index in clients and at_us > over_us]
    if later:
        yield Found(MADE_FOR_NOBODY, {"request": name_of(index), "count": len(later)}, index, later[0])


def _count(seen: StageSeen, kind: str, client: int) -> int:
    return sum(each.kind == kind and each.client == client for each in seen.messages)
