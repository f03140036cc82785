"""Judges a scheduler by its steps, its replies and what is free: who ran, who was told, what came back."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

from msgspec.structs import replace

from ...message import DetokenizeMsg
from ...recording import Recording
from ...resources import model_dir
from ...scheduler.scheduler import Scheduler
from ...tokenizer.load import load_tokenizer
from ...tokenizer.tokenizer import Tokenizer
from ..drill import NEVER_ENDS, Drill, Found, Reader, Say
from ..reader_file import the_class
from .back import Abort, Ask, Job, Log, Plan, Seen, interleaved_slots, name_of, play
from .back_recording import Recorder, round_us
from .lifecycle.kept import grown
from .stage import FAILS, GROWS, LEFT_BEHIND, MADE_FOR_NOBODY, UNANSWERED, StageJob, left_behind, on_stage

RUNS_ON, SLOT_TWICE, SHARED_SLOT, PAGE_TWICE = "runs-on", "slot-twice", "shared-slot", "page-twice"
FREED_LIVE, WRONG_TOKENS, NO_END, TWO_ENDS = "freed-live", "wrong-tokens", "no-end", "two-ends"
ENGINE_FAILS = "engine-fails"
SLOTS_LEFT, PAGES_LEFT, KEPT, LATE, BOOKS = "slots-left", "pages-left", "kept", "late", "books"

SPARE_ROUNDS = 5
"""Rounds by which an answer may end later than with the server's own class. Random plans have little room,
and who shares pages otherwise is admitted otherwise: there an answer may take any time.
"""
AT_RANDOM = "at-random"


class BooksDrill(Drill[Plan, Job | StageJob, Seen]):
    """Plays plans with a subclass of ``Scheduler``, which has ``methods`` of its own."""

    methods: ClassVar[tuple[str, ...]]
    job_type = Job | StageJob
    seen_type = Seen
    faults: ClassVar[tuple[str, ...]] = (
        RUNS_ON,
        SLOT_TWICE,
        SHARED_SLOT,
        FREED_LIVE,
        PAGE_TWICE,
        ENGINE_FAILS,
        WRONG_TOKENS,
        TWO_ENDS,
        NEVER_ENDS,
        NO_END,
        SLOTS_LEFT,
        PAGES_LEFT,
        KEPT,
        LATE,
        BOOKS,
        FAILS,
        UNANSWERED,
        MADE_FOR_NOBODY,
        LEFT_BEHIND,
        GROWS,
    )

    def prepare(self) -> None:
        assert self._recorder is not None

    def find(self, module: ModuleType, file: str) -> type[Scheduler]:
        return the_class(module, Scheduler, file, self.methods)

    @abstractmethod
    def fixed(self) -> Iterator[Plan]:
        """The plans that are tried each time, the simplest first."""

    @abstractmethod
    def random_plan(self, rng: random.Random) -> Plan:
        """A further one."""

    def cases(self, rng: random.Random) -> Sequence[Plan]:
        return [*self.fixed(), *(self.random_plan(rng) for _ in range(20))]

    def job(self, case: Plan) -> Job | StageJob:
        return (
            StageJob(self._recorder.recording(case, self._reference(case)))
            if case.on_stage
            else Job(case, case.eos)
        )

    def play(self, reader: Reader, job: Job | StageJob) -> Seen:
        if isinstance(job, Job):
            return play(reader.found, job, Log(), reader.module)
        return Seen(stage=on_stage(job.recording, self._tokenizer, reader))

    def judge(self, case: Plan, seen: Seen) -> Iterator[Found]:
        if seen.stage is not None:
            yield from left_behind(seen.stage)
            return
        own, uids = self._reference(case), [ask.uid for ask in case.asks]
        for fault, uid, round_, values in _faults(case, seen, own):
            client = uids.index(uid) if uid in uids else 0
            yield Found(fault, values, client, round_us(round_) - 1)

    def check_of(self, case: Plan, fault: str) -> str:
        return case.check

    def in_words(self, case: Plan, say: Say) -> str:
        parts = [] if case.overlap else [say("without overlap")]
        for number, came in enumerate(case.rounds, 1):
            parts += [_in_words(each, number, say) for each in came]
        return say("sentence end").join(parts)

    def size(self, case: Plan) -> tuple[int, ...]:
        asks = case.asks
        return len(asks), sum(map(len, case.rounds)), len(case.rounds), sum(ask.max_tokens for ask in asks)

    def smaller(self, case: Plan) -> Iterator[Plan]:
        for number, came in enumerate(case.rounds):
            for place in range(len(came)):
                less = came[:place] + came[place + 1 :]
                rounds = (*case.rounds[:number], less, *case.rounds[number + 1 :])
                if any(isinstance(each, Ask) for each in (each for came in rounds for each in came)):
                    yield replace(case, rounds=rounds)

    def recording(self, case: Plan) -> tuple[Recording, str] | None:
        return self._recorder.recording(case, self._reference(case)), "2.3"

    def _reference(self, case: Plan) -> Seen:
        """What the server's own class does."""
        key = replace(case, check="")
        if key not in self._references:
            self._references[key] = play(Scheduler, Job(case, case.eos), Log())
        return self._references[key]

    @cached_property
    def _references(self) -> dict[Plan, Seen]:
        return {}

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return load_tokenizer(model_dir())

    @cached_property
    def _recorder(self) -> Recorder:
        return Recorder(self._tokenizer)


Fault = tuple[str, int, int, dict[str, Any]]
"""Fault, uid (-1: nobody's), round and values."""


def _faults(plan: Plan, seen: Seen, own: Seen) -> Iterator[Fault]:
    last = len(seen.rounds) - 1
    if seen.engine:
        yield ENGINE_FAILS, -1, last + 1, {"text": seen.engine.sentence(), "round": last + 2}
        return
    for ask in plan.asks:
        yield from _of_one(plan, ask, seen, own)
    for round_, slot, uid, other in interleaved_slots(seen.steps):
        names = {"request": name_of(uid), "other": name_of(other)}
        yield SHARED_SLOT, uid, round_, {"slot": slot, "round": round_ + 1, **names}
    yield from _free_twice(seen)
    if not seen.quiet:
        yield NEVER_ENDS, -1, last, {"what": "rounds", "rounds": len(seen.rounds), **_still(seen)}
        return
    lost = sorted(set(range(plan.num_slots)) - set(seen.rounds[-1].free_slots))
    if lost:
        yield SLOTS_LEFT, -1, last, {"count": len(lost), "slots": lost}
    if seen.room < plan.num_pages:
        yield PAGES_LEFT, -1, last, {"room": seen.room, "pages": plan.num_pages}
    if seen.kept:
        yield KEPT, seen.kept[0], last, {"request": name_of(seen.kept[0])}
    if seen.books:
        yield BOOKS, -1, last, {"text": seen.books.sentence()}
    if where := grown(seen.sizes):
        yield GROWS, plan.asks[-1].uid, last, {"count": len(plan.asks), "where": where}


def _of_one(plan: Plan, ask: Ask, seen: Seen, own: Seen) -> Iterator[Fault]:
    uid, due, aborted = ask.uid, plan.due(ask), plan.aborted(ask.uid)
    replies = seen.replies_of(uid)
    ends = [round_ for round_, reply in replies if getattr(reply, "finished", False)]
    tokens = [
        reply.next_token
        for _, reply in replies
        if isinstance(reply, DetokenizeMsg) and reply.next_token is not None
    ]
    name = {"request": name_of(uid)}
    end = ends[0] if ends else len(seen.rounds) - 1
    if aborted is not None:
        for step in seen.steps:
            if step.round >= aborted and uid in step.uids:
                yield RUNS_ON, uid, step.round, {**name, "abort": aborted + 1, "round": step.round + 1}
                break
    whole = aborted is None or any(each.finish_reason != "abort" for each in _ends_of(own, uid))
    if tokens != due[: len(tokens)] or (whole and ends and len(tokens) != len(due)):
        yield WRONG_TOKENS, uid, end, {**name, "due": len(due), **_told(tokens, due)}
    if not ends:
        yield NO_END, uid, end, name
    elif len(ends) > 1 or not getattr(replies[-1][1], "finished", False):
        after = len(replies) - 1 - [getattr(reply, "finished", False) for _, reply in replies].index(True)
        yield TWO_ENDS, uid, replies[-1][0], {**name, "count": after}
    elif (
        plan.check != AT_RANDOM
        and (late := end - [round_ for round_, reply in own.replies_of(uid)][-1]) > SPARE_ROUNDS
    ):
        yield LATE, uid, end, {**name, "rounds": late}


def _still(seen: Seen) -> dict[str, Any]:
    """What there is to do, and whether there is room for it."""
    names = {"waiting": seen.waiting, "running": seen.running}
    told = {what: ", ".join(map(name_of, uids)) or "-" for what, uids in names.items()}
    return {**told, "slots": len(seen.rounds[-1].free_slots), "pages": max(0, seen.room)}


def _ends_of(seen: Seen, uid: int) -> list[DetokenizeMsg]:
    replies = (reply for _, reply in seen.replies_of(uid))
    return [reply for reply in replies if isinstance(reply, DetokenizeMsg) and reply.finished]


def _told(tokens: list[int], due: list[int]) -> dict[str, Any]:
    """How far the tokens are right; which kind of sentence tells it."""
    pairs = enumerate(zip(tokens, due, strict=False), 1)
    wrong = next((place for place, (got, right) in pairs if got != right), 0)
    return {"got": len(tokens), "token": wrong, "what": "number" if wrong else "count"}


def _free_twice(seen: Seen) -> Iterator[Fault]:
    for number, each in enumerate(seen.rounds):
        for uid, page in each.live[:1]:
            values = {"request": name_of(uid), "page": page, "round": number + 1}
            yield FREED_LIVE, uid, number, values
        for fault, free in ((SLOT_TWICE, each.free_slots), (PAGE_TWICE, each.free_pages)):
            twice = [thing for place, thing in enumerate(free) if thing in free[:place]]
            if twice:
                yield fault, -1, number, {"number": twice[0], "round": number + 1}


def _in_words(each: Ask | Abort, number: int, say: Say) -> str:
    name = name_of(each.uid)
    if isinstance(each, Abort):
        return say("aborts", round=number, request=name)
    text = say("asks", round=number, request=name, length=each.length, most=each.max_tokens)
    if each.shared:
        text += say("shares", shared=each.shared)
    if each.quotes_eos:
        text += say("quotes")
    if each.ends_at:
        text += say("ends at", place=each.ends_at)
    return text + (say("ignores") if each.ignore_eos else "")
