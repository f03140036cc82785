"""What every command about exercises begins with: the language, the folder, the exercises named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .fail import fail

if TYPE_CHECKING:
    from ..exercises.catalogue import Exercise
    from ..exercises.sentences import Teller
    from ..language import Language, Tongue

EXERCISE = "exercise-7, 7 or 5.7; 5c.4 and 2.3 for the others."

Name = Annotated[str, typer.Argument(metavar="EXERCISE", help=EXERCISE, show_default=False)]


class Desk:
    """``say`` says what belongs to no exercise; an exercise's own teller says the rest."""

    def __init__(self, tongue: Tongue) -> None:
        from ..exercises.sentences import GENERAL, Teller
        from ..exercises.workspace import Workspace

        self.language: Language = tongue.language
        self.say: Teller = Teller(GENERAL[self.language])
        self.workspace = Workspace.find(Path.cwd())

    def exercise(self, name: str) -> Exercise:
        """The exercise of that name; ends the program if there is none."""
        from ..exercises.catalogue import UnknownExercise, resolve

        try:
            return resolve(name)
        except UnknownExercise as error:
            fail(self.say("unknown", name=error.name, names=error.names))

    def exercises(self, names: Sequence[str], everything: bool, chapter: str | None) -> list[Exercise]:
        """Those named, or all, or a chapter's; ends the program if that is not exactly one of the three."""
        from ..exercises.catalogue import UnknownExercise, exercises, of_chapter

        if sum((bool(names), everything, chapter is not None)) != 1:
            fail(self.say("not-one"))
        try:
            if chapter is not None:
                return list(of_chapter(chapter))
        except UnknownExercise as error:
            fail(self.say("no-chapter", name=error.name, names=error.names))
        return list(exercises()) if everything else [self.exercise(name) for name in names]

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Ends the program with a sentence if the folder cannot be written to."""
        from ..exercises.workspace import WorkspaceError

        try:
            yield
        except WorkspaceError as error:
            fail(self.say("no-write", path=error.path, reason=error.reason))
