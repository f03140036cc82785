"""Chapter 5, exercise 12: an abort while the last token is computed (C5.117, C5.145, C5.149)."""

from __future__ import annotations

import random
from collections.abc import Iterator

from .back import Abort, Ask, Plan, random_plan
from .books import BooksDrill
from .lifecycle.kept import MANY


class LastInFlightDrill(BooksDrill):
    """Requests that end while a step with them is in flight: by an abort, by a token, by both."""

    methods = ("_drop_late",)
    checks = (
        "abort-amid",
        "abort-eos",
        "abort-length",
        "abort-prompt",
        "end-amid",
        "then-two",
        "slot-taken",
        "client-leaves",
        "at-random",
    )

    def fixed(self) -> Iterator[Plan]:
        # In round n token n arrives, whose step was in flight when the abort came.
        yield Plan("abort-amid", ((Ask(0, 6, 8),), (), (), (Abort(0),)))
        yield Plan("abort-amid", ((Ask(0, 6, 8), Ask(1, 5, 8)), (), (), (Abort(0),)))
        one_by_one = [each for uid in range(MANY) for each in ((Ask(uid, 6, 8),), (), (), (Abort(uid),), ())]
        yield Plan("abort-amid", tuple(one_by_one))
        yield Plan("abort-eos", ((Ask(0, 6, 8, ends_at=3),), (), (), (Abort(0),)))
        yield Plan("abort-eos", ((Ask(0, 6, 8, ends_at=2), Ask(1, 5, 8)), (), (Abort(0),)))
        yield Plan("abort-length", ((Ask(0, 6, 3),), (), (), (Abort(0),)))
        yield Plan("abort-length", ((Ask(0, 6, 2), Ask(1, 5, 8)), (), (Abort(0),)))
        yield Plan("abort-prompt", ((Ask(0, 6, 1),), (Abort(0),)))
        yield Plan("abort-prompt", ((Ask(0, 6, 8, ends_at=1),), (Abort(0),)))
        yield Plan("abort-prompt", ((Ask(0, 30, 8),), (), (Abort(0),)), budget=8)
        yield Plan("end-amid", ((Ask(0, 6, 8, ends_at=3),),))
        yield Plan("end-amid", ((Ask(0, 6, 8, ends_at=3),), (), (), (), (Abort(0),)))
        yield Plan("end-amid", ((Ask(0, 6, 8, ends_at=3), Ask(1, 6, 9)), (), (), (), (), (Ask(2, 9, 3),)))
        two = (Ask(1, 9, 5), Ask(2, 7, 5))
        for first in (Ask(0, 6, 8, ends_at=3), Ask(0, 6, 3)):
            yield Plan("then-two", ((first,), (), (), (Abort(0),), (), two))
            yield Plan("then-two", ((first,), (), (), (Abort(0),), (), two[:1], two[1:]), num_slots=2)
            # Who comes with the abort is given what it gives back, and the step in flight runs after that.
            yield Plan("slot-taken", ((first,), (), (), (Abort(0), Ask(1, 14, 4))))
            yield Plan("slot-taken", ((first, Ask(2, 5, 9)), (), (), (Abort(0), Ask(1, 14, 4))), num_slots=2)
            yield Plan("client-leaves", ((first,), (), (), (Abort(0),), (), (), two), on_stage=True)

    def random_plan(self, rng: random.Random) -> Plan:
        return random_plan(rng, aborts=0.35, ends=0.5)
