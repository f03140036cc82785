"""What each file beside an exercise must come to: the starter, the solutions and the wrong fixes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from .catalogue import Exercise


@dataclass(frozen=True)
class Case:
    """A file. ``check`` and ``fault`` are what it must fail for, empty if it must pass."""

    file: Path
    check: str = ""
    fault: str = ""


def cases(exercise: Exercise) -> Iterator[Case]:
    """A wrong fix says in its docstring what it must fail for: ``Fails: check: fault``.

    Raises:
        ValueError: a wrong fix does not.
    """
    check, fault = exercise.starter_fails
    yield Case(exercise.path / "starter.py", check, fault)
    for file in sorted((exercise.path / "solutions").glob("*.py")):
        yield Case(file)
    for file in sorted((exercise.path / "wrong").glob("*.py")):
        yield _failing(file)


def _failing(file: Path) -> Case:
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    found = re.search(r"^Fails: ([\w-]+): ([\w-]+)$", text, re.MULTILINE)
    if found is None:
        raise ValueError(f"{file} does not say what it must fail for")
    return Case(file, found[1], found[2])
