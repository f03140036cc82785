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

from .sentences import Teller


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

    def __init__(self, name: str, checks: Sequence[str], say: Teller) -> None:
        self._name = name
        self._checks = checks
        self._say = say

    def passed(self, plays: int, seed: int) -> Verdict:
        line = self._say("passed", exercise=self._name, checks=len(self._checks), plays=plays, seed=seed)
        return Verdict(Exit.RIGHT, (line,), self._tried({}, True))

    def undecided(self, reason: str) -> Verdict:
        return Verdict(Exit.UNDECIDED, (self._say("undecided", exercise=self._name, text=reason),))

    def failed(self, first: Failure, others: list[str], complete: bool, seed: int, printed: str) -> Verdict:
        """``complete``: every case was played."""
        rows = [
            ("check", f"{first.check}: {self._say(f'check {first.check}')}"),
            ("expected", first.expected),
            ("seen", first.seen),
            ("schedule", first.case),
            *([("look", first.look)] if first.look else []),
        ]
        lines = [self._say("failed", exercise=self._name), *self._rows(rows)]
        if not complete:
            lines.append(self._say("not-all"))
        elif others:
            lines.append(self._say("others", names=", ".join(others)))
        elif len(self._checks) > 1:
            lines.append(self._say("only", count=len(self._checks) - 1))
        lines.append(self._say("seed", seed=seed))
        found = {first.check: first.seen, **dict.fromkeys(others, "")}
        tried = self._tried(found, True if complete else None)
        return Verdict(Exit.NOT_YET, (*lines, *self._printed(printed)), tried, first.fault, printed)

    def stopped(self, kind: str, values: dict[str, object], case: str, printed: str) -> Verdict:
        """The reader's file ended the check, at ``case`` or, with none, while it was loaded."""
        text = self._say(f"stopped {kind}", **values)
        rows = [("expected", self._say("expected loads")), ("seen", text)]
        if case:
            rows.append(("schedule", case))
        lines = [self._say("failed", exercise=self._name), *self._rows(rows), *self._printed(printed)]
        loads = Tried("loads", self._say("expected loads"), False, text)
        return Verdict(Exit.NOT_YET, tuple(lines), (loads, *self._tried({}, None)), kind, printed)

    def _tried(self, failed: dict[str, str], others: bool | None) -> tuple[Tried, ...]:
        order = [*failed, *(name for name in self._checks if name not in failed)]
        return tuple(
            Tried(name, self._say(f"check {name}"), False if name in failed else others, failed.get(name, ""))
            for name in order
        )

    def _rows(self, rows: list[tuple[str, str]]) -> list[str]:
        names = [self._say(name) for name, _ in rows]
        width = max(10, *map(cell_len, names))
        return [f"  {set_cell_size(name, width)} {text}" for name, (_, text) in zip(names, rows, strict=True)]

    def _printed(self, printed: str, most: int = 12) -> list[str]:
        if not printed.strip():
            return []
        runs = [(line, len(list(same))) for line, same in groupby(printed.rstrip().splitlines())]
        lines = [line if count == 1 else self._say("times", line=line, count=count) for line, count in runs]
        more = ["  ..."] if len(lines) > most else []
        return [self._say("printed"), *(f"  {line}" for line in lines[:most]), *more]
