"""Chapter 2, exercise 3: an abort finds its request, and all of it comes back (C5.143 to C5.149)."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .back import Abort, Ask, Plan, random_plan
from .books import BooksDrill


class AbortDrill(BooksDrill):
    """Aborts of requests that wait, that are half computed, that run, that are gone; several at once."""

    methods = ("_process_one_msg",)
    checks = (
        "running",
        "waiting",
        "half-computed",
        "unknown",
        "finished",
        "two-at-once",
        "in-flight",
        "many",
        "client-leaves",
        "at-random",
    )

    def fixed(self) -> Iterator[Plan]:
        for overlap in (False, True):
            yield Plan("running", ((Ask(0, 6, 8),), (), (), (Abort(0),)), overlap)
            yield Plan("running", ((Ask(0, 6, 8), Ask(1, 5, 7)), (), (), (Abort(0),)), overlap)
            full = (Ask(0, 6, 6), Ask(1, 5, 6), Ask(2, 5, 4))
            yield Plan("waiting", (full, (), (Abort(2),)), overlap, num_slots=2)
            yield Plan("waiting", ((*full, Ask(3, 7, 3)), (), (Abort(2),)), overlap, num_slots=2)
            yield Plan("half-computed", ((Ask(0, 30, 3),), (Abort(0),)), overlap, budget=8)
            yield Plan("half-computed", ((Ask(0, 30, 3), Ask(1, 9, 3)), (), (Abort(0),)), overlap, budget=8)
            yield Plan("unknown", ((Abort(7),),), overlap)
            yield Plan("unknown", ((Ask(0, 6, 5),), (), (Abort(7),)), overlap)
            yield Plan("finished", ((Ask(0, 6, 2),), (), (), (), (Abort(0),)), overlap)
            yield Plan("finished", ((Ask(0, 6, 2), Ask(1, 6, 8)), (), (), (), (Abort(0), Abort(0))), overlap)
            yield Plan("two-at-once", ((Ask(0, 6, 8), Ask(1, 6, 8)), (), (), (Abort(0), Abort(1))), overlap)
            yield Plan("two-at-once", ((Ask(0, 6, 8), Ask(1, 6, 8)), (), (), (Abort(1), Abort(1))), overlap)
        # Who comes with the abort gets what it gives back, while the step in flight still runs.
        later = Ask(2, 14, 4)
        yield Plan("in-flight", ((Ask(0, 6, 8), Ask(1, 5, 8)), (), (), (Abort(0), later)), num_slots=2)
        yield Plan(
            "in-flight", ((Ask(0, 6, 8), Ask(1, 5, 8)), (), (), (Abort(1), later)), num_slots=2, num_pages=9
        )
        for overlap in (False, True):
            cycles: list[tuple[Ask | Abort, ...]] = []
            for uid in range(6):
                cycles += [(Ask(uid, 7, 9),), (), (), (Abort(uid),)]
            one, two = Ask(0, 6, 9), Ask(1, 6, 7)
            yield Plan("client-leaves", ((one,), (), (), (Abort(0),)), overlap, on_stage=True)
            yield Plan("client-leaves", ((one, two), (), (), (Abort(0),)), overlap, on_stage=True)
            yield Plan("many", tuple(cycles), overlap)
            yield Plan("many", (*cycles, (Ask(6, 5, 3), Ask(7, 6, 3))), overlap, num_slots=3, num_pages=12)

    def random_plan(self, rng: random.Random) -> Plan:
        return random_plan(rng, aborts=0.4)
