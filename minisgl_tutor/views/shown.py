"""A play as the views that write files take it: a name, a title and steps to go through once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..language import Sentence
from ..trace.steps import Step

CLIENT, ENGINE = "client", "engine"

_ORDER = (CLIENT, "api", "tokenizer", "scheduler", ENGINE, "detokenizer")


@dataclass(frozen=True)
class ShownScene:
    """``name`` is short and tells scenes of one chapter apart; ``gaps`` are those switched on."""

    name: str
    title: Sentence
    gaps: tuple[str, ...]
    steps: Iterable[Step]


def lanes(steps: Iterable[Step]) -> list[str]:
    """The components between which steps go, in the order in which a request meets them."""
    names = {name for step in steps for name in (step.source, step.target) if name}
    return sorted(names, key=lambda name: (rank(name), name))


def rank(name: str) -> int:
    """Its place in the order in which a request meets the components."""
    kind = name.rpartition("-")[0] or name
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)
