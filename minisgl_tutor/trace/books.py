"""What the scheduler's books say when they do not add up, and the gap of which that is the sign."""

from __future__ import annotations

import re

SIGNS: tuple[tuple[str, str], ...] = (
    (r"slot \d+ is free and free at once", "double-free"),
    (r"slot \d+ is free and used by", "early-slot"),
    (r"slot \d+ is used by", "early-slot"),
    (r"page \d+ is free and cached at once", "freed-and-cached"),
    (r"page \d+ is free and used by", "dangling-page"),
    (r"arrived in this order, but take their turns otherwise", "unordered-running"),
)
"""A sentence of ``check_integrity``, and the gap."""


def known_problem(problem: str) -> str:
    """The gap that ``problem`` is the sign of; empty if none is."""
    return next((gap for sign, gap in SIGNS if re.search(sign, problem)), "")


def thing_of(problem: str) -> str:
    """What is counted wrongly: slots, pages, requests."""
    return problem.split()[0].rstrip("s")


def uid_of(problem: str) -> int | None:
    """The first request that ``problem`` names."""
    named = re.search(r"requests? \[?(\d+)", problem)
    return int(named[1]) if named else None
