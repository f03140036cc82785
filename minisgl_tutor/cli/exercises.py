"""``minisgl-tutor exercises``: what there is to do, and what is done."""

from __future__ import annotations

import typer


def exercises() -> None:
    """List the exercises and how far you are."""
    from pathlib import Path

    from rich.console import Console
    from rich.table import Table

    from ..exercises.catalogue import EXERCISES
    from ..exercises.sentences import say
    from ..exercises.workspace import Workspace

    workspace = Workspace.find(Path.cwd())
    damaged = workspace.set_aside_damage()
    if damaged is not None:
        typer.echo(say("damaged", kept=damaged))
    table = Table(box=None, pad_edge=False)
    for column in ("exercise", "title", "state"):
        table.add_column(say(f"column {column}"))
    for exercise in EXERCISES:
        table.add_row(exercise.name, exercise.title, say(f"state {workspace.state(exercise)}"))
    Console().print(table)
