"""The gap of which it is the sign that the scheduler's books do not add up in some way."""

from __future__ import annotations

from ..scheduler.problems import IntegrityError

SIGNS: dict[tuple[str, ...], str] = {
    ("slot-twice", "free", "free"): "double-free",
    ("slot-twice", "free", "used"): "early-slot",
    ("slot-twice", "used", "used"): "early-slot",
    ("page-twice", "free", "cached"): "freed-and-cached",
    ("page-twice", "free", "used"): "dangling-page",
    ("out-of-order",): "unordered-running",
}
"""Kind of problem and states of the places, where there are two, to the name of the gap."""


def known_gap(problem: IntegrityError) -> str:
    """The gap that ``problem`` is the sign of; empty if none is."""
    return SIGNS.get((problem.kind, *(place.state for place in problem.places)), "")
