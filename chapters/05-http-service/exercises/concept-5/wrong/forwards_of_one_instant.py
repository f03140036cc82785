"""What is computed at one instant is taken for one forward.

Fails: two-processes: batching
"""

from __future__ import annotations

from itertools import combinations

from minisgl_tutor.exercises.drills.three_words import Trace


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def classify(trace: Trace) -> tuple[bool, bool, bool]:
    concurrent = any(overlap(a[1:], b[1:]) for a, b in combinations(trace.exchanges, 2))
    parallel = any(
        a.process != b.process and overlap(a[1:], b[1:]) for a, b in combinations(trace.computing, 2)
    )
    together: dict[int, set[str]] = {}
    for forward in trace.forwards:
        together.setdefault(forward.at, set()).update(forward.requests)
    batched = any(len(requests) > 1 for requests in together.values())
    return concurrent, parallel, batched
