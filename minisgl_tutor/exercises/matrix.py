"""What each file of an exercise must come to: starter, solutions and wrong fixes; and what its texts lack."""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..language import LANGUAGES, Language, Sentence
from .catalogue import Exercise
from .sentences import GENERAL
from .verdict import Exit, Verdict
from .workspace import TEXTS


@dataclass(frozen=True)
class Case:
    """A file. ``check`` and ``fault`` are what it must fail for, empty if it must pass."""

    file: Path
    check: str = ""
    fault: str = ""

    @property
    def name(self) -> str:
        return (
            self.file.stem
            if self.file.parent.parent.name == "exercises"
            else f"{self.file.parent.name}/{self.file.stem}"
        )

    @property
    def due(self) -> str:
        return f"{self.check}: {self.fault}" if self.check else "passes"


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


def outcome(verdict: Verdict) -> str:
    """In the words of :attr:`Case.due`, or why there is none."""
    if verdict.exit is Exit.UNDECIDED:
        return verdict.lines[0]
    return f"{verdict.failing[0]}: {verdict.fault}" if verdict.failing else "passes"


def untold(exercise: Exercise) -> Iterator[Sentence]:
    """What the texts of an exercise leave out, or say in one language only."""
    for check in exercise.drill().checks:
        for name in TEXTS:
            if f"`{check}`" not in (exercise.path / name).read_text("utf-8"):
                yield Sentence(
                    "{exercise}: {file} does not name the check {check}",
                    exercise=exercise.key,
                    file=name,
                    check=check,
                )
        for language in LANGUAGES:
            if f"check {check}" not in exercise.sentences[language]:
                yield _missing(exercise, f"check {check}", language)
    for fault in exercise.drill().faults:
        for language in LANGUAGES:
            known = {*exercise.sentences[language], *GENERAL}
            for kind in ("expected", "seen"):
                if not any(f"{key} ".startswith(f"{kind} {fault} ") for key in known):
                    yield _missing(exercise, f"{kind} {fault}", language)
    english, chinese = (exercise.sentences[language] for language in LANGUAGES)
    for key in sorted({*english, *chinese, "title", "task", "hint 1", "hint 2", "hint 3"}):
        if key not in english or key not in chinese:
            yield Sentence(
                "{exercise}: {key!r} is not there in both languages", exercise=exercise.key, key=key
            )
        elif _values(english[key]) != _values(chinese[key]):
            yield Sentence(
                "{exercise}: {key!r} names other values in one language than in the other",
                exercise=exercise.key,
                key=key,
            )


def _missing(exercise: Exercise, key: str, language: Language) -> Sentence:
    return Sentence(
        "{exercise}: there is no sentence {key!r} in {language}",
        exercise=exercise.key,
        key=key,
        language=language,
    )


def _values(sentence: Sentence) -> set[str]:
    """Those that it names if it is about several; about one it need not say how many."""
    parsed = string.Formatter().parse(sentence.more or sentence.text)
    return {name for _, name, _, _ in parsed if name}


def _failing(file: Path) -> Case:
    text = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    found = re.search(r"^Fails: ([\w-]+): ([\w-]+)$", text, re.MULTILINE)
    if found is None:
        raise ValueError(Sentence("{file} does not say what it must fail for", file=file))
    return Case(file, found[1], found[2])
