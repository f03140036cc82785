"""A sweep over the instants at which something begins or ends counts what is open."""

from __future__ import annotations

from collections.abc import Iterable

from minisgl_tutor.exercises.drills.three_words import Trace


def most_at_once(spans: Iterable[tuple[str, int, int]]) -> int:
    changes: list[tuple[int, int, str]] = []
    for name, begin, end in spans:
        changes += [(begin, 1, name), (end, -1, name)]  # at one instant, what ends goes first
    running: list[str] = []
    most = 0
    for _, change, name in sorted(changes):
        if change > 0:
            running.append(name)
        else:
            running.remove(name)
        most = max(most, len(set(running)))
    return most


def classify(trace: Trace) -> tuple[bool, bool, bool]:
    batched = [forward for forward in trace.forwards if set(forward.requests) != {forward.requests[0]}]
    return most_at_once(trace.exchanges) > 1, most_at_once(trace.computing) > 1, bool(batched)
