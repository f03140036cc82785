"""The search for the shortest schedule that shows the same fault in the same check."""

from __future__ import annotations

from collections.abc import Callable

from .judge import Violation
from .schedule import Schedule, smaller

TRIES = 60


def shortest(found: Violation, tried: Callable[[Schedule], list[Violation]]) -> Violation:
    """The smallest violation like ``found`` that taking away one thing after the other leads to.

    ``tried`` plays a schedule and tells what is wrong in it.
    """
    tries = 0
    while tries < TRIES:
        for schedule in smaller(found.schedule):
            tries += 1
            alike = [
                each for each in tried(schedule) if (each.check, each.fault) == (found.check, found.fault)
            ]
            if alike:
                found = alike[0]
                break
        else:
            return found
    return found
