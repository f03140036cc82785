"""A stretch is compared only with the one that begins next.

Fails: nested: parallelism
"""

from __future__ import annotations

from itertools import combinations, pairwise

from minisgl_tutor.exercises.drills.three_words import Trace


def classify(trace: Trace) -> tuple[bool, bool, bool]:
    concurrent = any(
        a.accepted < b.finished and b.accepted < a.finished for a, b in combinations(trace.exchanges, 2)
    )
    in_order = sorted(trace.computing, key=lambda each: (each.begin, each.end))
    parallel = any(a.process != b.process and b.begin < a.end for a, b in pairwise(in_order))
    batched = any(len(set(forward.requests)) > 1 for forward in trace.forwards)
    return concurrent, parallel, batched
