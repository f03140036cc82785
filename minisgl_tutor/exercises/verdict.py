"""What a check comes to, and how it is told: to a reader, and to a program.

The form for programs is that of the Exercism test runners (interface version 2):
a status of ``pass``, ``fail`` or ``error``, and the checks with a status each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby
from typing import Any

from rich.cells import cell_len, set_cell_size

from ..language import Sentence, counted
from .sentences import Teller

CHECK, EXPECTED, SEEN = Sentence("check"), Sentence("expected"), Sentence("seen")
SCHEDULE, LOOK = Sentence("schedule"), Sentence("look")
"""What the rows of a report are called."""


class Exit(IntEnum):
    """Exit statuses of ``check``."""

    RIGHT = 0
    NOT_YET = 1
    UNDECIDED = 2


@dataclass(frozen=True)
class Tried:
    """One check: what it tries, in words, and whether it passed; null: it was not tried to the end."""

    name: str
    text: str
    passed: bool | None
    message: str = ""


@dataclass(frozen=True)
class Verdict:
    """``lines`` tell it to the reader. ``fault`` is what the first failing check found, ``output`` what
    the file printed.
    """

    exit: Exit
    lines: tuple[str, ...]
    tried: tuple[Tried, ...] = ()
    fault: str = ""
    output: str = ""

    @property
    def failing(self) -> tuple[str, ...]:
        """The names of the failed checks, the reported one first."""
        return tuple(each.name for each in self.tried if each.passed is False)

    def as_json(self) -> dict[str, Any]:
        status = {Exit.RIGHT: "pass", Exit.NOT_YET: "fail", Exit.UNDECIDED: "error"}[self.exit]
        states = {True: "pass", False: "fail", None: "error"}
        return {
            "version": 2,
            "status": status,
            "message": None if self.tried else "\n".join(self.lines),
            "tests": [
                {
                    "name": each.name,
                    "status": states[each.passed],
                    "message": each.message or None,
                    "output": self.output or None if each.passed is False else None,
                    "test_code": each.text,
                }
                for each in self.tried
            ],
        }


@dataclass(frozen=True)
class Failure:
    """The first thing wrong, in words: the check, what should be, what was seen, how to see it again."""

    check: str
    fault: str
    expected: str
    seen: str
    case: str
    look: str


class Report:
    """Words verdicts for one exercise. ``name``: the exercise's; ``checks``: all there are."""

    def __init__(self, name: str, checks: Sequence[str], tell: Teller) -> None:
        self._name = name
        self._checks = checks
        self._tell = tell
        self._say = tell.say

    def passed(self, plays: int, seed: int) -> Verdict:
        line = Sentence(
            "{exercise}: right. All {checks} checks pass ({plays} schedules, seed {seed}).",
            exercise=self._name,
            checks=len(self._checks),
            plays=plays,
            seed=seed,
        )
        return Verdict(Exit.RIGHT, (self._say(line),), self._tried({}, True))

    def undecided(self, reason: Sentence) -> Verdict:
        line = Sentence("{exercise}: could not be judged: {reason}", exercise=self._name, reason=reason)
        return Verdict(Exit.UNDECIDED, (self._say(line),))

    def failed(self, first: Failure, others: list[str], complete: bool, seed: int, printed: str) -> Verdict:
        """``complete``: every case was played."""
        rows = [
            (CHECK, self._say(self._check(first.check))),
            (EXPECTED, first.expected),
            (SEEN, first.seen),
            (SCHEDULE, first.case),
            *([(LOOK, first.look)] if first.look else []),
        ]
        lines = self._failing(rows)
        if not complete:
            lines.append(self._say(Sentence("The rest was not tried.")))
        elif others:
            lines.append(
                self._say(Sentence("Also failing: {names}.", names=self._tell("comma").join(others)))
            )
        elif len(self._checks) > 1:
            only = counted(
                "The other check passes.", "The other {count} checks pass.", count=len(self._checks) - 1
            )
            lines.append(self._say(only))
        again = Sentence(
            "The random schedules came from seed {seed}; `--seed {seed}` plays the same ones again.",
            seed=seed,
        )
        lines.append(self._say(again))
        found = {first.check: first.seen, **dict.fromkeys(others, "")}
        tried = self._tried(found, True if complete else None)
        return Verdict(Exit.NOT_YET, (*lines, *self._printed(printed)), tried, first.fault, printed)

    def stopped(self, kind: str, how: Sentence, case: str, printed: str) -> Verdict:
        """The reader's file ended the check, at ``case`` or, with none, while it was loaded."""
        due, text = self._say(Sentence("your file can be loaded and played")), self._say(how)
        rows = [(EXPECTED, due), (SEEN, text), *([(SCHEDULE, case)] if case else [])]
        lines = [*self._failing(rows), *self._printed(printed)]
        loads = Tried("loads", due, False, text)
        return Verdict(Exit.NOT_YET, tuple(lines), (loads, *self._tried({}, None)), kind, printed)

    def _check(self, name: str) -> Sentence:
        return Sentence("{check}: {text}", check=name, text=self._tell(f"check {name}"))

    def _tried(self, failed: dict[str, str], others: bool | None) -> tuple[Tried, ...]:
        order = [*failed, *(name for name in self._checks if name not in failed)]
        return tuple(
            Tried(
                name, self._tell(f"check {name}"), False if name in failed else others, failed.get(name, "")
            )
            for name in order
        )

    def _failing(self, rows: list[tuple[Sentence, str]]) -> list[str]:
        head = Sentence("{exercise}: not yet right. The first check that fails:", exercise=self._name)
        names = [self._say(name) for name, _ in rows]
        width = max(10, *map(cell_len, names))
        pairs = zip(names, rows, strict=True)
        return [self._say(head), *(f"  {set_cell_size(name, width)} {text}" for name, (_, text) in pairs)]

    def _printed(self, printed: str, most: int = 12) -> list[str]:
        if not printed.strip():
            return []
        runs = [(line, len(list(same))) for line, same in groupby(printed.rstrip().splitlines())]
        lines = [line if count == 1 else self._say(_again(line, count)) for line, count in runs]
        more = ["  ..."] if len(lines) > most else []
        return [self._say(Sentence("Your file printed:")), *(f"  {line}" for line in lines[:most]), *more]


def _again(line: str, count: int) -> Sentence:
    return Sentence("{line} ({count} times)", line=line, count=count)
