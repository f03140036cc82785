"""``minisgl-tutor exercises``: what there is to do, and what is done."""

from __future__ import annotations

from typing import Annotated

import typer

from ..language import Sentence
from .caller import caller
from .check import how_many
from .desk import Desk
from .told import tell_next

COLUMNS = (Sentence("exercise"), Sentence("what it is about"), Sentence("state"))
STATES = {
    "not-started": Sentence("not started"),
    "started": Sentence("started"),
    "passed": Sentence("passed"),
    "changed": Sentence("changed since it passed"),
}

NEXT = {
    "not-started": ("start", Sentence("begins it")),
    "started": ("check", Sentence("judges what you have")),
}
"""What to do with the first exercise that is in such a state."""


def exercises(
    context: typer.Context,
    chapter: Annotated[str | None, typer.Option(help="Only those of this chapter: 2, 5 or 5c.")] = None,
) -> None:
    """List the exercises and how far you are."""
    from rich.console import Console
    from rich.table import Table

    desk = Desk(caller(context).say)
    desk.set_aside_damage()
    listed = desk.exercises((), chapter is None, chapter)
    table = Table(box=None, pad_edge=False)
    for column in COLUMNS:
        table.add_column(desk.say(column))
    states = [desk.workspace.state(exercise) for exercise in listed]
    parts = {exercise.part for exercise in listed}
    part = ""
    for exercise, state in zip(listed, states, strict=True):
        if exercise.part != part:
            part = exercise.part
            table.add_row(f"[bold]{desk.say(_title(part, divided=part + 'c' in parts))}[/bold]")
        table.add_row(exercise.name, exercise.teller(desk.say)("title"), desk.say(STATES[state]))
    console = Console(highlight=False)
    console.print(table)
    console.print(desk.say(how_many(states.count("passed"), len(listed))))
    for exercise, state in zip(listed, states, strict=True):
        if state in NEXT:
            command, purpose = NEXT[state]
            typer.echo()
            tell_next({f"{command} {exercise.name}": purpose}, desk.say)
            break


def _title(part: str, divided: bool) -> Sentence:
    """What the exercises of a part stand under; a divided chapter has concepts and a walk-through."""
    if part.endswith("c"):
        return Sentence("Chapter {chapter}, concepts", chapter=part.removesuffix("c"))
    if divided:
        return Sentence("Chapter {chapter}, walk-through", chapter=part)
    return Sentence("Chapter {chapter}", chapter=part)
