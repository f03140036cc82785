"""The search for the shortest schedule that shows the same fault."""

from __future__ import annotations

from collections.abc import Callable

from .judge import Check, Violation, check_of
from .schedule import Schedule, smaller

TRIES = 60


def shortest(found: Violation, tried: Callable[[Schedule], list[Violation]]) -> Violation:
    """The smallest violation with that fault to which taking away one thing after the other leads.

    ``tried`` plays a schedule and tells what is wrong in it.
    """
    check = found.check
    tries = 0
    while tries < TRIES:
        for schedule in smaller(found.schedule):
            if check is not Check.NEIGHBOURS and check_of(schedule, found.fault) is not check:
                continue
            tries += 1
            alike = [each for each in tried(schedule) if each.fault is found.fault]
            if alike:
                found = alike[0]
                break
        else:
            return found
    return found
