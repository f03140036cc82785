"""``minisgl-tutor start``: puts the starter of an exercise into the reader's folder."""

from __future__ import annotations

import typer

from ..language import Sentence
from .caller import caller
from .desk import Desk, Name


def start(context: typer.Context, name: Name) -> None:
    """Begin an exercise: its starter and its text go into ./minisgl-exercises, or that of a folder above.

    A file of yours is never overwritten.
    """
    from ..exercises.workspace import shown
    from .told import tell_next

    desk = Desk(caller(context).say)
    exercise = desk.exercise(name)
    with desk.writing():
        new = desk.workspace.start(exercise)
    file = shown(desk.workspace.file(exercise))
    if new:
        task = exercise.teller(desk.say)("task")
        desk.tell(Sentence("{file} is yours now. Its task: {task}", file=file, task=task))
    else:
        desk.tell(Sentence("{file} is there already and stays as it is.", file=file))
    desk.tell(Sentence("What is asked: {file}", file=shown(desk.text(exercise))))
    steps = {
        f"read {exercise.name}": Sentence("shows here what is asked"),
        f"check {exercise.name}": Sentence("judges the file, when you have changed it"),
    }
    typer.echo()
    tell_next(steps, desk.say)
