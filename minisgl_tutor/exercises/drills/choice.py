"""Chapter 2, exercise 2: who is computed next, and who calls the engine (C2.65, C2.78, C2.79, C2.86)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from ...engine.base import ForwardOutput
from ...scheduler.batch import Batch, ForwardInput
from ...scheduler.cache import CacheManager
from ...scheduler.decode import DecodeManager
from ...scheduler.prefill import PrefillManager
from ...scheduler.scheduler import Scheduler
from ...scheduler.table import TableManager
from ..drill import Found, Reader
from .back import Ask, AskedSeen, Job, Log, Plan, Seen, StepSeen, name_of, play, random_plan
from .back_recording import round_us
from .books import BooksDrill
from .stage import StageJob

CHOOSING, FORWARDING = "_schedule_next_batch", "_forward"
CALLS_EARLY, CHOOSES_LATE, CALLS_TWICE, OTHER_STEP = (
    "calls-early",
    "chooses-late",
    "calls-twice",
    "other-step",
)


class ChoiceDrill(BooksDrill):
    """Compares the steps that are made with those of the server's own class, and looks at who asks whom."""

    methods = (CHOOSING,)
    checks = (
        "one-request",
        "idle",
        "prefill-first",
        "two-wait",
        "budget",
        "no-slot",
        "no-pages",
        "pages-run-out",
        "at-random",
    )
    faults = (CALLS_EARLY, CHOOSES_LATE, CALLS_TWICE, OTHER_STEP, *BooksDrill.faults)

    def fixed(self) -> Iterator[Plan]:
        for overlap in (True, False):
            yield Plan("one-request", ((Ask(0, 6, 4),),), overlap)
            yield Plan("idle", ((), (), (Ask(0, 6, 2),), (), (), (), ()), overlap)
            yield Plan("prefill-first", ((Ask(0, 6, 6),), (), (Ask(1, 5, 3),)), overlap)
            yield Plan("prefill-first", ((Ask(0, 6, 9),), (), (Ask(1, 5, 3),), (Ask(2, 7, 3),)), overlap)
            pair = (Ask(1, 12, 3), Ask(2, 12, 3))
            yield Plan("two-wait", ((Ask(0, 6, 8),), (), pair), overlap)
            yield Plan("two-wait", ((Ask(0, 6, 8),), (), pair), overlap, budget=12)
            yield Plan("budget", ((Ask(0, 20, 3),),), overlap, budget=8)
            yield Plan("budget", ((Ask(0, 6, 8),), (), (Ask(1, 20, 3), Ask(2, 7, 3))), overlap, budget=16)
            yield Plan("no-slot", ((Ask(0, 6, 4), Ask(1, 5, 6)), (), (Ask(2, 5, 3),)), overlap, num_slots=2)
            few = ((Ask(0, 9, 7), Ask(1, 9, 4)), (), (Ask(2, 12, 3),))
            yield Plan("no-pages", few, overlap, num_pages=8)
            grown = (Ask(0, 8, 16), Ask(1, 8, 16), Ask(2, 8, 16))
            yield Plan("pages-run-out", (grown,), overlap, num_pages=9, optimistic=True)

    def random_plan(self, rng: random.Random) -> Plan:
        return random_plan(rng, aborts=0.15, ends=0.3)

    def play(self, reader: Reader, job: Job | StageJob) -> Seen:
        if isinstance(job, Job):
            log = Log()
            return play(watched(reader.found, log), job, log, reader.module)
        return super().play(reader, job)

    def judge(self, case: Plan, seen: Seen) -> Iterator[Found]:
        for step in seen.steps:
            if CHOOSING in step.within:
                yield _at(CALLS_EARLY, step.round, case, step.uids)
        for asked in seen.asked:
            if asked.within[-1:] == [FORWARDING]:
                yield _at(CHOOSES_LATE, asked.round, case, [], manager=asked.manager)
        steps = _by_round(seen)
        for number, made in steps.items():
            if len(made) > 1:
                yield _at(CALLS_TWICE, number, case, made[1].uids, count=len(made))
        if case.check != "pages-run-out":
            yield from self._other_step(case, steps, len(seen.rounds) + bool(seen.engine))
        yield from super().judge(case, seen)

    def _other_step(self, case: Plan, steps: dict[int, list[StepSeen]], rounds: int) -> Iterator[Found]:
        due = _by_round(self._reference(case))
        for number in range(rounds):
            right, made = due.get(number, []), steps.get(number, [])
            if [(each.phase, each.rows) for each in right] != [(each.phase, each.rows) for each in made]:
                uids = [uid for each in (*right, *made) for uid in each.uids]
                yield _at(OTHER_STEP, number, case, uids, due=_step(right), got=_step(made))
                return


def watched(cls: type[Scheduler], log: Log) -> type[Scheduler]:
    """``cls``, which notes in which of its methods managers and engine are asked."""

    class Watched(cls):  # type: ignore[valid-type, misc]
        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self.prefill_manager = _Prefill(log, self.cache_manager, self.table_manager)
            self.decode_manager = _Decode(log, self.cache_manager)

        def _schedule_next_batch(self) -> ForwardInput | None:
            log.within.append(CHOOSING)
            try:
                chosen: ForwardInput | None = super()._schedule_next_batch()
                return chosen
            finally:
                log.within.pop()

        def _forward(self, forward_input: ForwardInput) -> ForwardOutput:
            log.within.append(FORWARDING)
            try:
                output: ForwardOutput = super()._forward(forward_input)
                return output
            finally:
                log.within.pop()

    return Watched


class _Prefill(PrefillManager):
    def __init__(self, log: Log, cache_manager: CacheManager, table_manager: TableManager) -> None:
        super().__init__(cache_manager, table_manager)
        self._log = log

    def schedule_next_batch(self, prefill_budget: int) -> Batch | None:
        seen = self._log.seen
        seen.asked.append(AskedSeen(len(seen.rounds), "prefill_manager", list(self._log.within)))
        return super().schedule_next_batch(prefill_budget)


class _Decode(DecodeManager):
    def __init__(self, log: Log, cache_manager: CacheManager) -> None:
        super().__init__(cache_manager)
        self._log = log

    def schedule_next_batch(self) -> Batch | None:
        seen = self._log.seen
        seen.asked.append(AskedSeen(len(seen.rounds), "decode_manager", list(self._log.within)))
        return super().schedule_next_batch()


def _by_round(seen: Seen) -> dict[int, list[StepSeen]]:
    steps: dict[int, list[StepSeen]] = {}
    for step in seen.steps:
        steps.setdefault(step.round, []).append(step)
    return steps


def _at(fault: str, number: int, case: Plan, uids: list[int], **values: Any) -> Found:
    known = [ask.uid for ask in case.asks]
    client = next((known.index(uid) for uid in uids if uid in known), 0)
    return Found(fault, {"round": number + 1, **values}, client, round_us(number) - 1)


def _step(steps: list[StepSeen]) -> str:
    """``prefill A 0-6 B 0-5``: the phase, and for each row from where to where it computes."""
    return (
        "; ".join(
            f"{each.phase} {' '.join(f'{name_of(uid)} {begin}-{end}' for uid, begin, end in each.rows)}"
            for each in steps
        )
        or "-"
    )
