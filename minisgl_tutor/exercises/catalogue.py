"""The exercises, and their names: ``5.7``, and ``exercise-7`` or ``7`` for those of chapter 5."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..resources import chapters_dir
from .sentences import say


class UnknownExercise(ValueError):
    """One sentence that lists what there is."""


@dataclass(frozen=True)
class Exercise:
    """``number`` in ``chapter``. ``folder`` is that of the chapter. ``starter_fails``: check and fault."""

    chapter: str
    number: int
    title: str
    task: str
    folder: str
    starter_fails: tuple[str, str]

    @property
    def key(self) -> str:
        """Its name among those of all chapters."""
        return f"{self.chapter}.{self.number}"

    @property
    def name(self) -> str:
        return f"exercise-{self.number}" if self.chapter == "5" else self.key

    @property
    def path(self) -> Path:
        return chapters_dir() / self.folder / "exercises" / f"exercise-{self.number}"


EXERCISES: tuple[Exercise, ...] = (
    Exercise(
        chapter="5",
        number=7,
        title="End each request once, on every path",
        task="whatever ends a request, nothing of it may stay behind.",
        folder="05-http-service",
        starter_fails=("end-streaming", "kept"),
    ),
)


def resolve(name: str) -> Exercise:
    """The exercise of that name.

    Raises:
        UnknownExercise: there is none.
    """
    plain = name.strip().lower().removesuffix(".py")
    for exercise in EXERCISES:
        if plain in (exercise.key, exercise.name, exercise.name.removeprefix("exercise-")):
            return exercise
    names = ", ".join(f"{exercise.name} ({exercise.key})" for exercise in EXERCISES)
    raise UnknownExercise(say("unknown", name=name, names=names))
