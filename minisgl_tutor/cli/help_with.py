"""``minisgl-tutor hint``, ``solution``, ``reset`` and ``diff``: help with an exercise that has been begun."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from .caller import caller
from .desk import Desk, Name


def hint(context: typer.Context, name: Name) -> None:
    """Show the next hint: first a question, then a direction, then the place."""
    from .program import program

    desk = Desk(caller(context).say)
    exercise = desk.exercise(name)
    hints = exercise.hints(desk.language)
    with desk.writing():
        step = desk.workspace.next_hint(exercise, len(hints))
    typer.echo(desk.say("hint", step=step, of=len(hints), text=hints[step - 1]))
    more = "hint-more" if step < len(hints) else "hint-last"
    typer.echo(desk.say(more, program=program(), exercise=exercise.name))


def solution(
    context: typer.Context,
    name: Name,
    give_up: Annotated[bool, typer.Option("--give-up", help="Show it although you have not passed.")] = False,
) -> None:
    """Show a solution, once you have passed, or with --give-up."""
    from ..exercises.workspace import shown
    from ..resources import shipped
    from .fail import fail

    desk = Desk(caller(context).say)
    exercise = desk.exercise(name)
    if not give_up and desk.workspace.state(exercise) not in ("passed", "changed"):
        fail(desk.say("solution-first", exercise=exercise.name))
    first, *others = sorted(shipped(exercise.path / "solutions").glob("*.py"))
    typer.echo(desk.say("solution", count=1 + len(others), file=shown(first)))
    typer.echo()
    typer.echo(first.read_text("utf-8"))
    if others:
        typer.echo(desk.say("solution-others", files=", ".join(map(shown, others))))


def reset(context: typer.Context, name: Name) -> None:
    """Begin an exercise again. Your file is kept under another name."""
    from ..exercises.workspace import shown

    desk = Desk(caller(context).say)
    exercise = desk.exercise(name)
    with desk.writing():
        kept = desk.workspace.reset(exercise)
    file = shown(desk.workspace.file(exercise))
    typer.echo(
        desk.say("reset-none", file=file) if kept is None else desk.say("reset", file=file, kept=shown(kept))
    )


def diff(context: typer.Context, name: Name) -> None:
    """Show what you have changed in the starter."""
    from rich.console import Console
    from rich.syntax import Syntax

    from ..exercises.workspace import shown
    from .fail import fail
    from .program import program

    desk = Desk(caller(context).say)
    exercise = desk.exercise(name)
    file = desk.workspace.file(exercise)
    try:
        yours = file.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        fail(desk.say("none-there", file=shown(file), program=program(), exercise=exercise.name))
    starter = desk.workspace.starter(exercise).decode()
    lines = list(
        difflib.unified_diff(
            starter.splitlines(keepends=True), yours.splitlines(keepends=True), "starter", shown(file)
        )
    )
    if not lines:
        typer.echo(desk.say("same", file=shown(file)))
        return
    console = Console(highlight=False)
    text = "".join(lines).rstrip("\n")
    console.print(
        Syntax(text, "diff", background_color="default") if console.is_terminal else text,
        markup=False,
        soft_wrap=True,
    )
