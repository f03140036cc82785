"""Concepts, exercise 5: concurrency, parallelism and batching are three things.

A trace has `exchanges` (request, accepted, finished), `computing` (process, begin, end) and
`forwards` (at, requests); times are milliseconds. `classify` returns three booleans: HTTP
concurrency, parallel computing, batching of several requests. This one thinks that they are
one thing. What to do is in exercise-5c.5.md beside this file.
"""

from __future__ import annotations

from minisgl_tutor.exercises.drills.three_words import Trace


def classify(trace: Trace) -> tuple[bool, bool, bool]:
    many = len(trace.exchanges) > 1
    return many, many, many
