"""``minisgl-tutor check``: judges the reader's version of an exercise."""

from __future__ import annotations

from typing import Annotated

import typer


def check(
    name: Annotated[str, typer.Argument(metavar="EXERCISE", help="exercise-7, 7 or 5.7.")],
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Play the random schedules of an earlier check again.", show_default="random"
        ),
    ] = None,
) -> None:
    """Judge your version of an exercise: exit status 0 right, 1 not yet right, 2 could not be judged."""
    import secrets
    from pathlib import Path

    from ..exercises.catalogue import UnknownExercise, resolve
    from ..exercises.sentences import say
    from ..exercises.workspace import Workspace, WorkspaceError, shown
    from .fail import fail
    from .program import program

    try:
        exercise = resolve(name)
        workspace = Workspace.find(Path.cwd())
        file = workspace.file(exercise)
        new = workspace.start(exercise)
        typer.echo(say("started-first" if new else "judging", file=shown(file)))
    except UnknownExercise as error:
        fail(str(error))
    except WorkspaceError as error:
        fail(say("no-write", path=error.path, reason=error.reason))

    from ..exercises.checker import Place, check_lifecycle
    from ..exercises.verdict import Exit

    digest = workspace.digest(exercise)
    chosen = secrets.randbelow(1_000_000) if seed is None else seed
    verdict = check_lifecycle(file, chosen, Place(exercise.name, workspace.failures, program()))
    for line in verdict.lines:
        typer.echo(line)
    if verdict.exit is Exit.NOT_YET:
        typer.echo(say("asked", text=shown(workspace.texts(exercise)[0])))
    if verdict.exit is Exit.RIGHT:
        solutions, wrong = (shown(exercise.path / folder) for folder in ("solutions", "wrong"))
        typer.echo(say("designs", solutions=solutions, wrong=wrong))
        damaged = workspace.set_aside_damage()
        if damaged is not None:
            typer.echo(say("damaged", kept=damaged))
        try:
            workspace.pass_(exercise, digest)
        except WorkspaceError as error:
            typer.echo(say("no-write", path=error.path, reason=error.reason), err=True)
    raise typer.Exit(verdict.exit)
