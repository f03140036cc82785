"""``minisgl-tutor doctor``: what this machine has, what each command needs, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from .checks import Finding


def doctor() -> None:
    """Look at this installation and say what each command still needs.

    The exit status is 0 if trace, check and serve (on a CPU) can work here, else 1.
    """
    from rich.console import Console

    from .checks import FOR_ALL, SERVE_ON_GPU, examine

    console = Console()
    with console.status("looking around"):
        findings = list(examine())
    console.print(_table(findings))
    for finding in findings:
        if not finding.fine and finding.remedy:
            # On a line of its own, unbroken: most of these are commands to copy.
            console.print(f"{finding.what}: {finding.remedy}", highlight=False, markup=False, soft_wrap=True)
    unready = set()
    for command in FOR_ALL:
        lacking = [finding.what for finding in findings if command in finding.needed_by and not finding.fine]
        console.print(f"{command}: {'needs ' + ', '.join(lacking) if lacking else 'ready'}", highlight=False)
        if lacking:
            unready.add(command)
    if unready - {SERVE_ON_GPU}:
        raise typer.Exit(1)


def _table(findings: Iterable[Finding]) -> Table:
    from rich.table import Column, Table
    from rich.text import Text

    table = Table("looked at", "", Column("found", overflow="fold"))
    for finding in findings:
        mark = Text("ok", "green") if finding.fine else Text("no", "yellow")
        table.add_row(finding.what, mark, Text(finding.found))
    return table
