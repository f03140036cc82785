"""``minisgl-tutor dev``: for those who write exercises."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence
from .caller import caller
from .desk import EXERCISE, Desk
from .speaking import Command, Group

if TYPE_CHECKING:
    from ..exercises.catalogue import Exercise

dev = typer.Typer(cls=Group, help="For those who write exercises.", no_args_is_help=True)


@dev.callback()
def _dev() -> None:
    """For those who write exercises."""


@dev.command("check-exercises", cls=Command)
def check_exercises(
    context: typer.Context,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="EXERCISE...", help=EXERCISE, show_default="all")
    ] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Of the random cases.", show_default="random")
    ] = None,
    markdown: Annotated[bool, typer.Option(help="Print the matrix as a table.")] = False,
) -> None:
    """Prove of every exercise: its starter fails, each solution passes, each wrong fix fails for its reason.

    Each file is judged exactly as `check` would. The texts are held against the checks, and the
    languages against each other. The exit status is 1 if something is not as it must be.
    """
    import secrets

    from ..exercises.matrix import untold

    desk = Desk(caller(context).say)
    chosen = secrets.randbelow(1_000_000) if seed is None else seed
    wrong = 0
    if markdown:
        typer.echo("| exercise | file | verdict |\n|---|---|---|")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for exercise in desk.exercises(names or (), not names, None):
            wrong += _check(desk, exercise, chosen, Path(folder), markdown)
            for sentence in untold(exercise):
                desk.tell(sentence, err=True)
                wrong += 1
    told = Sentence(
        "seed {seed}, {seconds:.0f} s, {wrong} not as they must be",
        seed=chosen,
        seconds=time.monotonic() - begun,
        wrong=wrong,
    )
    desk.tell(told, err=True)
    raise typer.Exit(1 if wrong else 0)


def _check(desk: Desk, exercise: Exercise, seed: int, folder: Path, markdown: bool) -> int:
    """How many of its files come to something else than they must."""
    from ..exercises.checker import Place, check
    from ..exercises.matrix import cases, outcome

    wrong = 0
    for case in cases(exercise):
        verdict = check(exercise, case.file, seed, Place(folder), desk.say)
        got = outcome(verdict)
        wrong += got != case.due
        mark = "ok " if got == case.due else "NOT"
        typer.echo(
            f"| {exercise.key} | {case.name} | {got} |"
            if markdown
            else f"{mark} {exercise.key} {case.name}: {got}"
        )
        if got != case.due:
            due = desk.say(Sentence("it must be: {due}", due=case.due))
            typer.echo("\n    ".join([f"    {due}", *verdict.lines]), err=True)
    return wrong
