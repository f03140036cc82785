"""``minisgl-tutor hint``, ``solution``, ``reset`` and ``diff``: help with an exercise that has been begun."""

from __future__ import annotations

import difflib
from typing import Annotated

import typer

from ..language import Sentence
from .caller import caller
from .desk import Desk, Name


def hint(context: typer.Context, name: Name) -> None:
    """Show the next hint: first a question, then a direction, then the place."""
    from .program import program

    desk = Desk(caller(context).say)
    exercise = desk.exercise(name)
    hints = exercise.hints(desk.say)
    desk.set_aside_damage()
    with desk.writing():
        step = desk.workspace.next_hint(exercise, len(hints))
    desk.tell(Sentence("Hint {step} of {of}: {text}", step=step, of=len(hints), text=hints[step - 1]))
    if step < len(hints):
        more = Sentence("`{program} hint {exercise}` again gives the next one.")
    else:
        more = Sentence(
            "There is no further hint; `{program} solution {exercise} --give-up` shows an answer."
        )
    desk.tell(more.with_values(program=program(), exercise=exercise.name))


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
        fail(
            Sentence(
                "{exercise} has not been passed yet. Pass it first, or ask with --give-up.",
                exercise=exercise.name,
            )
        )
    first, *others = sorted(shipped(exercise.path / "solutions").glob("*.py"))
    desk.tell(Sentence("One of {count} designs that pass, {file}:", count=1 + len(others), file=shown(first)))
    typer.echo()
    typer.echo(first.read_text("utf-8"))
    if others:
        desk.tell(Sentence("The others: {files}", files=", ".join(map(shown, others))))


def reset(context: typer.Context, name: Name) -> None:
    """Begin an exercise again. Your file is kept under another name."""
    from ..exercises.workspace import shown

    desk = Desk(caller(context).say)
    exercise = desk.exercise(name)
    with desk.writing():
        kept = desk.workspace.reset(exercise)
    file = shown(desk.workspace.file(exercise))
    if kept is None:
        desk.tell(Sentence("{file} is the starter already.", file=file))
    else:
        desk.tell(
            Sentence(
                "{file} is the starter again. What it was is kept as {kept}.", file=file, kept=shown(kept)
            )
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
        fail(
            Sentence(
                "There is no {file} yet; `{program} start {exercise}` puts the starter there.",
                file=shown(file),
                program=program(),
                exercise=exercise.name,
            )
        )
    starter = desk.workspace.begun_from(exercise, yours)
    lines = list(
        difflib.unified_diff(
            starter.splitlines(keepends=True), yours.splitlines(keepends=True), "starter", shown(file)
        )
    )
    if not lines:
        desk.tell(Sentence("{file} is the starter, unchanged.", file=shown(file)))
        return
    console = Console(highlight=False)
    text = "".join(lines).rstrip("\n")
    console.print(
        Syntax(text, "diff", background_color="default") if console.is_terminal else text,
        markup=False,
        soft_wrap=True,
    )
