"""``minisgl-tutor doctor``: what this machine has, what each command needs, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from ..language import Sentence, Tongue, joined
from .caller import caller

if TYPE_CHECKING:
    from rich.table import Table

    from .checks import Finding


def doctor(context: typer.Context) -> None:
    """Look at this installation and say what each command still needs.

    The exit status is 0 if trace, check and serve (on a CPU) can work here, else 1.
    """
    from rich.console import Console

    from .checks import FOR_ALL, SERVE_ON_GPU, examine

    say = caller(context).say
    console = Console()
    with console.status(say(Sentence("looking around"))):
        findings = list(examine())
    console.print(_table(findings, say))
    for finding in findings:
        if not finding.fine and finding.remedy is not None:
            # On a line of its own, unbroken: most of these are commands to copy.
            advice = Sentence("{what}: {remedy}", what=finding.what, remedy=finding.remedy)
            console.print(say(advice), highlight=False, markup=False, soft_wrap=True)
    unready = set()
    for command in FOR_ALL:
        lacking = [finding.what for finding in findings if command in finding.needed_by and not finding.fine]
        state = Sentence("{command}: ready", command=command)
        if lacking:
            state = Sentence("{command}: needs {lacking}", command=command, lacking=joined(", ", lacking))
            unready.add(command)
        console.print(say(state), highlight=False)
    if unready - {SERVE_ON_GPU}:
        raise typer.Exit(1)


def _table(findings: Iterable[Finding], say: Tongue) -> Table:
    from rich.table import Column, Table
    from rich.text import Text

    table = Table(say(Sentence("looked at")), "", Column(say(Sentence("found")), overflow="fold"))
    for finding in findings:
        mark = (say(Sentence("ok")), "green") if finding.fine else (say(Sentence("no")), "yellow")
        table.add_row(say(finding.what), Text(*mark), Text(say(finding.found)))
    return table
