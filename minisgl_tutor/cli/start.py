"""``minisgl-tutor start``: puts the starter of an exercise into the reader's folder."""

from __future__ import annotations

from typing import Annotated

import typer


def start(name: Annotated[str, typer.Argument(metavar="EXERCISE", help="exercise-7, 7 or 5.7.")]) -> None:
    """Begin an exercise: its starter and its text go into ./minisgl-exercises, or that of a folder above.

    A file of yours is never overwritten.
    """
    from pathlib import Path

    from ..exercises.catalogue import UnknownExercise, resolve
    from ..exercises.sentences import say
    from ..exercises.workspace import Workspace, WorkspaceError, shown
    from .fail import fail
    from .program import program

    try:
        exercise = resolve(name)
        workspace = Workspace.find(Path.cwd())
        new = workspace.start(exercise)
    except UnknownExercise as error:
        fail(str(error))
    except WorkspaceError as error:
        fail(say("no-write", path=error.path, reason=error.reason))
    file = shown(workspace.file(exercise))
    typer.echo(say("started", file=file, text=exercise.task) if new else say("kept-yours", file=file))
    english, chinese = map(shown, workspace.texts(exercise))
    typer.echo(say("texts", english=english, chinese=chinese))
    typer.echo(say("next", program=program(), exercise=exercise.name))
