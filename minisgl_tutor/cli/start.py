"""``minisgl-tutor start``: puts the starter of an exercise into the reader's folder."""

from __future__ import annotations

import typer

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
    say = exercise.teller(desk.language)
    with desk.writing():
        new = desk.workspace.start(exercise)
    file = shown(desk.workspace.file(exercise))
    typer.echo(say("started", file=file, text=say("task")) if new else say("kept-yours", file=file))
    english, chinese = map(shown, desk.workspace.texts(exercise))
    typer.echo(say("texts", english=english, chinese=chinese))
    typer.echo(say("next", program=program(), exercise=exercise.name))
