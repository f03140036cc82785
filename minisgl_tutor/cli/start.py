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
    from .program import program

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
    english, chinese = map(shown, desk.workspace.texts(exercise))
    desk.tell(Sentence("What is asked: {english}, in Chinese: {chinese}", english=english, chinese=chinese))
    desk.tell(
        Sentence(
            "Change the file, then run: {program} check {exercise}",
            program=program(),
            exercise=exercise.name,
        )
    )
