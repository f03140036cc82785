"""A profile's account as a table."""

from __future__ import annotations

from pathlib import Path

import typer

from ..profiling.account import Account, account
from ..profiling.chrome import ProfileError, finish, read_spans

VIEWER = "https://ui.perfetto.dev"
EXPLAINED = {
    "receive": "take messages in",
    "schedule": "choose the next step",
    "plan": "prepare attention",
    "launch": "hand the step over",
    "wait": "for the engine",
    "postprocess": "take tokens in",
    "send": "let replies go",
}


def tell_profile(path: Path) -> None:
    """Prints what a profile comes to, and how to look at it, on standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    try:
        finish(path)
        found = account(read_spans(path))
    except ProfileError as error:
        typer.echo(str(error), err=True)
        return
    if found.steps:
        console.print(_table(found))
        for line in _sentences(found):
            console.print(line, highlight=False)
    else:
        console.print("The profile has no step: nothing was asked of the engine.", highlight=False)
    console.print(f"{path}: open it at {VIEWER}", highlight=False, markup=False, soft_wrap=True)


def _table(found: Account) -> object:
    from rich.table import Table

    table = Table("phase of a step", "ms, median", "ms, p99", "share", "what it is")
    for column in table.columns[1:4]:
        column.justify = "right"
    for phase in found.phases:
        table.add_row(
            phase.phase,
            f"{phase.median_ms:.3f}",
            f"{phase.p99_ms:.3f}",
            f"{phase.share:.1%}",
            EXPLAINED[phase.phase],
        )
    return table


def _sentences(found: Account) -> list[str]:
    lines = [
        f"{found.steps:,} steps; {found.work_s:.2f} s of work, {found.wait_s:.2f} s of waiting for the "
        f"engine, {found.idle_s:.2f} s with nothing to do."
    ]
    if found.hidden_s:
        lines.append(
            f"{found.hidden_s:.2f} s of the work ({found.hidden_s / found.work_s:.0%}) were done while the "
            "engine computed."
        )
    else:
        lines.append("No work hid behind the engine: on a CPU, it computes a step within the launch.")
    return lines
