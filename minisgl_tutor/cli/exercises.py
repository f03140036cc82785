"""``minisgl-tutor exercises``: what there is to do, and what is done."""

from __future__ import annotations

from typing import Annotated

import typer

from .caller import caller
from .desk import Desk


def exercises(
    context: typer.Context,
    chapter: Annotated[str | None, typer.Option(help="Only those of this chapter: 2, 5 or 5c.")] = None,
) -> None:
    """List the exercises and how far you are."""
    from rich.console import Console
    from rich.table import Table

    desk = Desk(caller(context).say)
    damaged = desk.workspace.set_aside_damage()
    if damaged is not None:
        typer.echo(desk.say("damaged", kept=damaged))
    listed = desk.exercises((), chapter is None, chapter)
    table = Table(box=None, pad_edge=False)
    for column in ("exercise", "title", "state"):
        table.add_column(desk.say(f"column {column}"))
    states = [desk.workspace.state(exercise) for exercise in listed]
    part = ""
    for exercise, state in zip(listed, states, strict=True):
        if exercise.part != part:
            part = exercise.part
            key = "part concepts" if part.endswith("c") else "part"
            table.add_row(f"[bold]{desk.say(key, chapter=part.removesuffix('c'))}[/bold]")
        table.add_row(exercise.name, exercise.teller(desk.language)("title"), desk.say(f"state {state}"))
    console = Console(highlight=False)
    console.print(table)
    console.print(desk.say("counts", passed=states.count("passed"), of=len(listed)))
