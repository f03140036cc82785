"""Two stretches of one process are taken for parallel.

Fails: one-process: parallelism
"""

from __future__ import annotations

from itertools import combinations

from minisgl_tutor.exercises.drills.three_words import Trace


def overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def classify(trace: Trace) -> tuple[bool, bool, bool]:
    concurrent = any(overlap(a[1:], b[1:]) for a, b in combinations(trace.exchanges, 2))
    parallel = any(overlap(a[1:], b[1:]) for a, b in combinations(trace.computing, 2))
    batched = any(len(set(forward.requests)) > 1 for forward in trace.forwards)
    return concurrent, parallel, batched
