"""A scheduler alone: a reader's class on ``Scheduler`` over an engine whose tokens tell what it read.

A plan says what comes before each round. The engine hashes what each row makes it
read, so a page or a slot that two requests share changes tokens; and it runs a step
only when the next one is launched, as a GPU does.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType

import msgspec

from ...engine.base import EngineError, EngineInfo, ForwardBatch, ForwardOutput
from ...engine.hashing import HashingEngine
from ...language import Sentence, sentence_of
from ...language.wire import Said
from ...links import MemoryChannel, MemoryPull, MemoryPush
from ...message import (
    AbortBackendMsg,
    BatchBackendMsg,
    DetokenizeMsg,
    ErrorReply,
    SamplingParams,
    StopStringsMsg,
    UserMsg,
)
from ...scheduler.integrity import check_integrity
from ...scheduler.problems import IntegrityError
from ...scheduler.scheduler import Scheduler
from ...server.config import SchedulerConfig
from .lifecycle.kept import sizes_of
from .stage import StageSeen

VOCABULARY = 50_000
"""So many that no token comes twice by chance."""

MAX_LEN = 64
"""Tokens that one request can have, prompt and answer together."""

MOST_ROUNDS = 200
"""Rounds after which a scheduler that still has something to do never ends."""

Reply = DetokenizeMsg | StopStringsMsg | ErrorReply


class Ask(msgspec.Struct, frozen=True, tag=True):
    """A request. Its prompt has ``length`` tokens, of which the first ``shared`` are those of everybody.

    Token number ``ends_at`` of its answer ends answers, unless it says ``ignore_eos``; 0: none does.
    ``quotes_eos``: on stage its prompt begins with such a token, as in a conversation each turn does.
    """

    uid: int
    length: int
    max_tokens: int
    ends_at: int = 0
    ignore_eos: bool = False
    shared: int = 0
    quotes_eos: bool = False

    @property
    def prompt(self) -> list[int]:
        own = range(self.shared, self.length)
        return [7 + place for place in range(self.shared)] + [1000 * (self.uid + 1) + place for place in own]


class Abort(msgspec.Struct, frozen=True, tag=True):
    uid: int


class Plan(msgspec.Struct, frozen=True):
    """A case: what comes, in order, before each round. Rounds go on until nothing is left to do.

    ``on_stage``: it is played as a recording of the whole server, whose clients ask and leave.
    """

    check: str
    rounds: tuple[tuple[Ask | Abort, ...], ...]
    overlap: bool = True
    num_slots: int = 4
    num_pages: int = 32
    page_size: int = 4
    budget: int = 64
    optimistic: bool = False
    on_stage: bool = False

    @property
    def asks(self) -> list[Ask]:
        return [each for came in self.rounds for each in came if isinstance(each, Ask)]

    def aborted(self, uid: int) -> int | None:
        """The round before which an abort for ``uid`` came, at or behind its request."""
        asked = False
        for number, came in enumerate(self.rounds):
            for each in came:
                asked |= isinstance(each, Ask) and each.uid == uid
                if asked and isinstance(each, Abort) and each.uid == uid:
                    return number
        return None

    @property
    def eos(self) -> frozenset[int]:
        """The tokens that end answers."""
        return frozenset(_tokens(ask)[ask.ends_at - 1] for ask in self.asks if ask.ends_at)

    def due(self, ask: Ask) -> list[int]:
        """The answer, if nobody aborts it."""
        tokens = list(_tokens(ask)[: ask.max_tokens])
        ends = [place for place, token in enumerate(tokens, 1) if token in self.eos and not ask.ignore_eos]
        return tokens[: ends[0]] if ends else tokens

    @property
    def info(self) -> EngineInfo:
        return EngineInfo(self.page_size, self.num_pages, self.num_slots, MAX_LEN, VOCABULARY)


class Job(msgspec.Struct, frozen=True, tag=True):
    """A plan, and which tokens end answers."""

    plan: Plan
    eos: frozenset[int]


class StepSeen(msgspec.Struct, frozen=True):
    """A call of the engine. ``within``: the scheduler's methods that it was made in, outermost first."""

    round: int
    phase: str
    uids: list[int]
    slots: list[int]
    cached_lens: list[int]
    seq_lens: list[int]
    within: list[str]

    @property
    def rows(self) -> list[tuple[int, int, int]]:
        return sorted(zip(self.uids, self.cached_lens, self.seq_lens, strict=True))


class AskedSeen(msgspec.Struct, frozen=True):
    """A manager was asked for a batch."""

    round: int
    manager: str
    within: list[str]


class RoundSeen(msgspec.Struct, frozen=True):
    """What a round sent, and what was free behind it. ``live``: free pages that a request has, by uid."""

    replies: list[Reply]
    free_slots: list[int]
    free_pages: list[int]
    live: list[tuple[int, int]]


class Seen(msgspec.Struct):
    """A play. ``quiet``: it came to an end; then ``room`` pages could be had, ``kept`` are the uids that
    were still known, and ``books`` says what else did not add up. ``waiting`` and ``running`` are those
    in the queues then. ``engine``: why it could not compute a step. ``sizes``: how much scheduler and
    reader's module had, by where, as requests came and at the end. ``stage``: of the whole server instead.
    """

    steps: list[StepSeen] = []
    asked: list[AskedSeen] = []
    rounds: list[RoundSeen] = []
    quiet: bool = False
    room: int = 0
    waiting: list[int] = []
    running: list[int] = []
    kept: list[int] = []
    books: Said | None = None
    engine: Said | None = None
    sizes: list[dict[str, int]] = []
    stage: StageSeen | None = None

    def replies_of(self, uid: int) -> list[tuple[int, Reply]]:
        """By round."""
        return [
            (number, reply)
            for number, each in enumerate(self.rounds)
            for reply in each.replies
            if reply.uid == uid
        ]


@dataclass
class Log:
    """What is noted while a scheduler plays."""

    seen: Seen = field(default_factory=Seen)
    within: list[str] = field(default_factory=list)


class NotedEngine:
    """Notes each step before it is handed on."""

    def __init__(self, engine: HashingEngine, log: Log) -> None:
        self._engine = engine
        self._log = log

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    def forward_batch(self, batch: ForwardBatch) -> ForwardOutput:
        seen = self._log.seen
        columns = (batch.slots, batch.cached_lens, batch.seq_lens)
        slots, cached_lens, seq_lens = (column.tolist() for column in columns)
        within = list(self._log.within)
        seen.steps.append(
            StepSeen(len(seen.rounds), batch.phase, list(batch.uids), slots, cached_lens, seq_lens, within)
        )
        return self._engine.forward_batch(batch)

    def close(self) -> None:
        self._engine.close()


def play(cls: type[Scheduler], job: Job, log: Log, module: ModuleType | None = None) -> Seen:
    """Plays all rounds of the plan with ``cls``, of the reader's ``module``, and as many more as it needs."""
    plan, seen = job.plan, log.seen
    inbox, outbox = MemoryChannel("tokenizer>scheduler"), MemoryChannel("scheduler>detokenizer")
    config = SchedulerConfig(
        prefill_budget=plan.budget,
        overlap=plan.overlap,
        seed=0,
        admission="optimistic" if plan.optimistic else "reserve",
        head_room=plan.page_size,
    )
    engine = NotedEngine(HashingEngine(plan.info, lag=True), log)
    scheduler = cls(engine, config, job.eos, MemoryPull(inbox), MemoryPush(outbox))
    push, replies = MemoryPush(inbox), MemoryPull(outbox)
    while len(seen.rounds) < MOST_ROUNDS:
        if len(seen.rounds) < len(plan.rounds):
            msgs = [_message(each) for each in plan.rounds[len(seen.rounds)]]
            if any(isinstance(msg, UserMsg) for msg in msgs):
                seen.sizes.append(sizes_of([scheduler], module))
            if msgs:
                push.put(msgs[0] if len(msgs) == 1 else BatchBackendMsg(msgs))
        elif not scheduler.busy:
            seen.quiet = True
            break
        try:
            scheduler.round()
        except EngineError as error:
            seen.engine = Said.of(sentence_of(error))
            return seen
        seen.rounds.append(_behind(scheduler, replies))
    seen.sizes.append(sizes_of([scheduler], module))
    _at_the_end(scheduler, seen)
    return seen


def _behind(scheduler: Scheduler, replies: MemoryPull) -> RoundSeen:
    cache = scheduler.cache_manager
    free = set(cache.free_pages)
    queues = (scheduler.prefill_manager.waiting, scheduler.decode_manager.running)
    reqs = [req for queue in queues for req in queue.values()]
    live = [(req.uid, page) for req in reqs for page in req.pages if page in free]
    sent = [msg for msg in replies.drain(False) if isinstance(msg, Reply)]
    return RoundSeen(sent, list(scheduler.table_manager.free_slots), list(cache.free_pages), live)


def _at_the_end(scheduler: Scheduler, seen: Seen) -> None:
    seen.room = scheduler.cache_manager.available
    seen.waiting = list(scheduler.prefill_manager.waiting)
    seen.running = list(scheduler.decode_manager.running)
    seen.kept = sorted(scheduler.requests)
    try:
        check_integrity(scheduler)
    except (IntegrityError, LookupError, TypeError, ValueError) as error:
        seen.books = Said.of(sentence_of(error) or Sentence(type(error).__name__))


def _message(each: Ask | Abort) -> UserMsg | AbortBackendMsg:
    if isinstance(each, Abort):
        return AbortBackendMsg(each.uid)
    params = SamplingParams(max_tokens=each.max_tokens, ignore_eos=each.ignore_eos)
    return UserMsg(each.uid, each.prompt, params)


@cache
def _tokens(ask: Ask) -> tuple[int, ...]:
    """What the engine makes of the prompt alone, to the limit."""
    engine = HashingEngine(EngineInfo(1, 1, 1, 1, VOCABULARY))
    return tuple(engine.expected_tokens(ask.prompt, ask.max_tokens))


def random_plan(
    rng: random.Random, aborts: float = 0.0, ends: float = 0.0, shared: tuple[int, ...] = (0,)
) -> Plan:
    """Requests over some rounds, on a scheduler with little room; what it is depends on ``rng`` alone.

    ``aborts`` and ``ends`` are how often there is an abort, and an end before the limit; a prompt begins
    with one of the ``shared`` lengths.
    """
    rounds: list[tuple[Ask | Abort, ...]] = []
    uid, known = 0, [25]
    for _ in range(rng.randint(3, 12)):
        came: list[Ask | Abort] = []
        while rng.random() < 0.45 and uid < 12:
            most, common = rng.randint(1, 9), rng.choice(shared)
            end = rng.randint(1, most) if rng.random() < ends else 0
            came.append(
                Ask(uid, common + rng.randint(int(not common), 20 - common), most, end, shared=common)
            )
            known.append(uid)
            uid += 1
        while rng.random() < aborts:
            came.append(Abort(rng.choice(known)))
        rounds.append(tuple(came))
    rounds.append((Ask(uid, 6, 3),))
    return Plan(
        "at-random",
        tuple(rounds),
        rng.random() < 0.6,
        num_slots=rng.randint(1, 4),
        num_pages=rng.randint(8, 24),
        budget=rng.choice((6, 64)),
    )


def name_of(uid: int) -> str:
    """What a request is called in a report."""
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[uid % 26]


def interleaved_slots(steps: Collection[StepSeen]) -> Iterator[tuple[int, int, int, int]]:
    """Round, slot and both uids where a request is computed in a slot that another one took meanwhile."""
    users: dict[int, list[int]] = {}
    for step in steps:
        for uid, slot in zip(step.uids, step.slots, strict=True):
            before = users.setdefault(slot, [])
            if before and before[-1] != uid:
                if uid in before:
                    yield step.round, slot, uid, before[-1]
                before.append(uid)
            elif not before:
                before.append(uid)
