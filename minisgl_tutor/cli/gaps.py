"""``minisgl-tutor gaps``: the faults that can be switched on, and where each is seen."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..gaps import Gap

FOUND_BY = {
    "auditor": "the auditor, by what is held and sent",
    "books": "the scheduler's own books (check_integrity)",
    "answer": "the auditor, by the answer and its tokens",
    "wire": "the auditor, by what the client is told",
}


def gaps(
    name: Annotated[
        str | None, typer.Argument(help="Explain this one, and say how to see it.", show_default=False)
    ] = None,
) -> None:
    """List the faults that can be switched on: what is wrong, who has it, and what finds it."""
    from rich.console import Console
    from rich.table import Table

    from ..gaps import GAPS, UnknownGap, resolve
    from .fail import fail
    from .program import program

    console = Console(highlight=False)
    if name is not None:
        try:
            chosen = resolve([name])
        except UnknownGap as error:
            fail(str(error))
        for gap in GAPS:
            if gap.name in chosen:
                _explain(console.print, gap, program())
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("gap", no_wrap=True)
    for column in ("what is wrong", "claims", "who has it", "found by"):
        table.add_column(column)
    for gap in GAPS:
        table.add_row(gap.name, gap.summary, ", ".join(gap.claims), gap.source, gap.shown_by)
    console.print(table)
    console.print("\nNext:", style="bold")
    console.print(f"  {program()} gaps double-free          explains one", soft_wrap=True)
    console.print(
        f"  {program()} trace --gap double-free   plays a scene in which it is found", soft_wrap=True
    )


def _explain(say: Callable[..., None], gap: Gap, program: str) -> None:
    from ..trace.scenes import scene_of_gap

    say(f"{gap.name}  {', '.join(gap.claims)}", style="bold")
    say(gap.explanation)
    say(f"\n  code      {gap.code}", soft_wrap=True)
    say(f"  found by  {FOUND_BY[gap.shown_by]}", soft_wrap=True)
    say(f"  with it   {program} trace --gap {gap.name}", soft_wrap=True)
    say(f"  without   {program} trace --fixed {shlex.quote(str(scene_of_gap(gap.name)))}\n", soft_wrap=True)
