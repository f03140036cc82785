"""What every command about exercises begins with: the language, the folder, the exercises named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, Tongue, sentence_of
from .fail import fail
from .told import tell

if TYPE_CHECKING:
    from ..exercises.catalogue import Exercise

EXERCISE = "exercise-7, 7 or 5.7; 5c.4 and 2.3 for the others. `exercises` lists them."

Name = Annotated[str, typer.Argument(metavar="EXERCISE", help=EXERCISE, show_default=False)]


class Desk:
    """``say`` says what belongs to no exercise; an exercise's own teller says the rest."""

    def __init__(self, say: Tongue) -> None:
        from ..exercises.workspace import Workspace

        self.say = say
        self.workspace = Workspace.find(Path.cwd(), say.language)

    def tell(self, sentence: Sentence, err: bool = False) -> None:
        """On a line of its own."""
        tell(self.say(sentence), err=err)

    def text(self, exercise: Exercise) -> Path:
        """What is asked, in the reader's language."""
        english, chinese = self.workspace.texts(exercise)
        return chinese if self.say.language == "zh" else english

    def next_exercise(self, exercise: Exercise) -> Exercise | None:
        """The next one that has not been passed, from the first on again behind the last; None: all have."""
        from ..exercises.catalogue import exercises

        place = exercises().index(exercise) + 1
        states = ((each, self.workspace.state(each)) for each in exercises()[place:] + exercises()[:place])
        return next((each for each, state in states if state not in ("passed", "changed")), None)

    def exercise(self, name: str) -> Exercise:
        """The exercise of that name; ends the program if there is none."""
        from ..exercises.catalogue import UnknownExercise, resolve

        try:
            return resolve(name)
        except UnknownExercise as error:
            fail(sentence_of(error))

    def exercises(self, names: Sequence[str], everything: bool, chapter: str | None) -> list[Exercise]:
        """Those named, or all, or a chapter's; ends the program if that is not exactly one of the three."""
        from ..exercises.catalogue import UnknownExercise, exercises, of_chapter

        if sum((bool(names), everything, chapter is not None)) != 1:
            fail(Sentence("name one exercise, or several, or --all, or --chapter"))
        try:
            if chapter is not None:
                return list(of_chapter(chapter))
        except UnknownExercise as error:
            fail(sentence_of(error))
        return list(exercises()) if everything else [self.exercise(name) for name in names]

    def set_aside_damage(self) -> None:
        """A progress file that cannot be read is kept under another name, and the reader is told."""
        kept = self.workspace.set_aside_damage()
        if kept is not None:
            self.tell(
                Sentence(
                    "The progress file was damaged. It is kept as {kept}, and a new one is begun.", kept=kept
                ),
                err=True,
            )

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Ends the program with a sentence if the folder cannot be written to."""
        from ..exercises.workspace import WorkspaceError

        try:
            yield
        except WorkspaceError as error:
            fail(sentence_of(error))
