"""Chapter 5, exercise 13: pages that the prefix cache has already, and a request reads (C2.83, C5.117)."""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..drill import Found
from .back import Ask, Plan, Seen, name_of, random_plan
from .back_recording import round_us
from .books import BooksDrill

NOT_SHARED = "not-shared"


class LivePagesDrill(BooksDrill):
    """Requests with common beginnings, side by side and one after the other, with room and without."""

    methods = ("_keep_prefix",)
    checks = ("alone", "side-by-side", "partly", "shares", "pressure", "chunks", "at-random")
    faults = (*BooksDrill.faults, NOT_SHARED)

    def fixed(self) -> Iterator[Plan]:
        for overlap in (True, False):
            yield Plan("alone", ((Ask(0, 9, 6),),), overlap)
            yield Plan("alone", ((Ask(0, 3, 6),),), overlap)
            twins = (Ask(0, 9, 6, shared=9), Ask(1, 9, 6, shared=9))
            yield Plan("side-by-side", (twins, (), (Ask(2, 12, 3),)), overlap)
            three = (*twins, Ask(2, 9, 6, shared=9))
            yield Plan("side-by-side", (three, (), (Ask(3, 22, 3),)), overlap)
            yield Plan(
                "partly", ((Ask(0, 6, 9, shared=6), Ask(1, 13, 9, shared=8)), (), (Ask(2, 12, 3),)), overlap
            )
            later = Ask(1, 14, 6, shared=8)
            yield Plan(
                "partly", ((Ask(0, 8, 2, shared=8),), (), (), (), (later,), (), (Ask(2, 12, 3),)), overlap
            )
            yield Plan("shares", ((Ask(0, 9, 9, shared=9),), (), (), (Ask(1, 9, 3, shared=9),)), overlap)
            yield Plan("shares", ((Ask(0, 17, 9, shared=12),), (), (), (Ask(1, 14, 3, shared=12),)), overlap)
            begun, longer, same = Ask(0, 5, 1, shared=5), Ask(1, 13, 9, shared=13), Ask(2, 14, 3, shared=13)
            yield Plan("shares", ((begun,), (), (), (), (longer,), (), (), (same,)), overlap)
            first = Ask(0, 13, 9)
            yield Plan("pressure", ((first,), (), (), (Ask(1, 13, 5),)), overlap, num_pages=9)
            yield Plan(
                "pressure", ((first,), (), (), (Ask(1, 17, 3),), (), (Ask(2, 9, 3),)), overlap, num_pages=10
            )
            chunked = (Ask(0, 17, 5, shared=17), Ask(1, 17, 5, shared=17))
            yield Plan("chunks", (chunked, (), (), (), (Ask(2, 17, 3),)), overlap, budget=7)

    def random_plan(self, rng: random.Random) -> Plan:
        return random_plan(rng, aborts=0.15, ends=0.3, shared=(0, 4, 8, 9, 13))

    def judge(self, case: Plan, seen: Seen) -> Iterator[Found]:
        yield from super().judge(case, seen)
        if case.check != "shares" or len(case.asks) < 2:
            return
        running, later = case.asks[-2:]
        uid = later.uid
        due, got = (_found(each, uid) for each in (self._reference(case), seen))
        if got is not None and due is not None and got < due:
            values = {"request": name_of(uid), "due": due, "got": got, "other": name_of(running.uid)}
            yield Found(NOT_SHARED, values, len(case.asks) - 1, round_us(len(case.rounds)))


def _found(seen: Seen, uid: int) -> int | None:
    """The tokens of its prompt that a request had from the cache; null if it was never computed."""
    firsts = (step for step in seen.steps if uid in step.uids)
    return next((step.cached_lens[step.uids.index(uid)] for step in firsts), None)
