"""The exercises: a folder each, found by name.

``exercise.toml`` beside an exercise's text says which drill judges it and what is
said about it in each language. Names: ``5.7`` is the seventh of chapter 5's
walk-through, and ``exercise-7`` or ``7`` too; ``5.7b`` is its second part; ``5c.4``
the fourth of its concepts;
``2.3`` the third of chapter 2's.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ..language import LANGUAGES, Language, Sentence, Tongue
from ..resources import chapters_dir
from .drill import Drill
from .sentences import Teller


class UnknownExercise(ValueError):
    """There is none of that name: a ``Sentence`` that lists what there is."""


@dataclass(frozen=True)
class Exercise:
    """``number`` in ``part``: the chapter, with a ``c`` for its concepts. ``letter``: that of a second part.

    ``starter_fails``: check and fault. ``sentences``: by language and key.
    """

    part: str
    number: int
    path: Path
    drill_name: str
    starter_fails: tuple[str, str]
    sentences: Mapping[Language, Mapping[str, Sentence]]
    letter: str = ""

    @property
    def key(self) -> str:
        """Its name among those of all chapters."""
        return f"{self.part}.{self.number}{self.letter}"

    @property
    def name(self) -> str:
        return f"exercise-{self.number}{self.letter}" if self.part == "5" else f"exercise-{self.key}"

    @property
    def names(self) -> frozenset[str]:
        """All names that a reader may use, in lower case."""
        return frozenset({self.key, self.name, self.name.removeprefix("exercise-"), f"exercise-{self.key}"})

    def teller(self, say: Tongue) -> Teller:
        """Says sentences, this exercise's own before the general ones."""
        return Teller(say, self.sentences[say.language])

    def hints(self, say: Tongue) -> list[str]:
        """Three, from question to place."""
        return [self.teller(say)(f"hint {step}") for step in (1, 2, 3)]

    def drill(self) -> Drill[Any, Any, Any]:
        """What judges it. Imports only what this exercise needs."""
        module, _, cls = self.drill_name.partition(":")
        drill = getattr(importlib.import_module(f"{__package__}.drills.{module}"), cls)
        return drill()  # type: ignore[no-any-return]


@cache
def exercises() -> tuple[Exercise, ...]:
    """All, as they are read: chapter 2, then chapter 5, concepts before the walk-through."""
    found = [_read(file) for file in chapters_dir().glob("*/exercises/*/exercise.toml")]
    return tuple(sorted(found, key=_place))


def _place(exercise: Exercise) -> tuple[str, bool, int, str]:
    return exercise.part.rstrip("c"), not exercise.part.endswith("c"), exercise.number, exercise.letter


def resolve(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        UnknownExercise: there is none.
    """
    plain = Path(name.strip().lower()).name.removesuffix(".py")
    for exercise in exercises():
        if plain in exercise.names:
            return exercise
    names = ", ".join(exercise.key for exercise in exercises())
    raise UnknownExercise(
        Sentence("there is no exercise {name!r}; there are: {names}", name=name, names=names)
    )


def of_chapter(chapter: str) -> tuple[Exercise, ...]:
    """The exercises of a chapter: ``5`` is walk-through and concepts, ``5c`` the concepts alone.

    Raises:
        UnknownExercise: there are none.
    """
    part = chapter.strip().lower()
    found = tuple(each for each in exercises() if part in (each.part, each.part.removesuffix("c")))
    if not found:
        names = ", ".join(sorted({each.part for each in exercises()}))
        raise UnknownExercise(
            Sentence(
                "there are no exercises of chapter {name!r}; there are chapters {names}",
                name=chapter,
                names=names,
            )
        )
    return found


def _read(file: Path) -> Exercise:
    data = tomllib.loads(file.read_text("utf-8"))
    chapter = re.sub(r"\D.*", "", file.parents[2].name).lstrip("0")
    kind, _, number = file.parent.name.rpartition("-")
    digits = number.rstrip("abcdefgh")
    return Exercise(
        part=chapter + ("c" if kind == "concept" else ""),
        number=int(digits),
        path=file.parent,
        drill_name=data["drill"],
        starter_fails=(data["starter_fails"]["check"], data["starter_fails"]["fault"]),
        sentences={language: _sentences(data[language]) for language in LANGUAGES},
        letter=number.removeprefix(digits),
    )


def _sentences(texts: Mapping[str, str | list[str]]) -> dict[str, Sentence]:
    """A text alone, or one for one and one for several."""
    forms = {key: [text] if isinstance(text, str) else text for key, text in texts.items()}
    return {key: Sentence(one, more="".join(more)) for key, (one, *more) in forms.items()}
