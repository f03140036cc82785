"""``minisgl-tutor gaps``: the faults that can be switched on, and where each is seen."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, Tongue
from .caller import caller

if TYPE_CHECKING:
    from rich.console import Console

    from ..gaps import Gap

FOUND_BY = {
    "auditor": Sentence("the auditor, by what is held and sent"),
    "books": Sentence("the scheduler's own books (check_integrity)"),
    "answer": Sentence("the auditor, by the answer and its tokens"),
    "wire": Sentence("the auditor, by what the client is told"),
}

LEGEND = (
    Sentence(
        "Who has it: `chapter`, the reference, as the chapters tell; `reference`, the reference, as runs of "
        "it showed; `this project`, nobody: a mistake that lies near."
    ),
    Sentence(
        "Found by: `auditor`, which looks at what is held and sent; `books`, the scheduler's own "
        "(check_integrity); `answer`, held against its tokens; `wire`, what the client is told, held against "
        "what is so."
    ),
)

COLUMNS = (Sentence("what is wrong"), Sentence("claims"), Sentence("who has it"), Sentence("found by"))


def gaps(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Explain this one, and say how to see it.", show_default=False)
    ] = None,
) -> None:
    """List the faults that can be switched on: what is wrong, who has it, and what finds it."""
    from rich.console import Console
    from rich.table import Table

    from ..gaps import GAPS, UnknownGap, resolve
    from ..language import sentence_of
    from ..views.breaks import BREAK, with_breaks
    from .fail import fail
    from .program import program

    say = caller(context).say
    console = Console(highlight=False)
    if name is not None:
        try:
            chosen = resolve([name])
        except UnknownGap as error:
            fail(sentence_of(error))
        for gap in GAPS:
            if gap.name in chosen:
                _explain(console, gap, program(), say)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column(say(Sentence("gap")), no_wrap=True)
    for column in COLUMNS:
        table.add_column(say(column))
    for gap in GAPS:
        summary = with_breaks(say(gap.summary))
        table.add_row(gap.name, summary, ", ".join(gap.claims), gap.source, gap.shown_by)
    with console.capture() as printed:
        console.print(table)
        console.print()
        for sentence in LEGEND:
            console.print(with_breaks(say(sentence)), style="dim")
        console.print(say(Sentence("\nNext:")), style="bold")
    typer.echo(printed.get().replace(BREAK, ""), nl=False)
    explains = say(Sentence("explains one"))
    console.print(f"  {program()} gaps double-free          {explains}", soft_wrap=True)
    plays = say(Sentence("plays a scene in which it is found"))
    console.print(f"  {program()} trace --gap double-free   {plays}", soft_wrap=True)


def _explain(console: Console, gap: Gap, program: str, say: Tongue) -> None:
    from rich.cells import cell_len
    from rich.text import Text

    from ..trace.scenes import scene_of_gap
    from ..views.breaks import lines_of

    console.print(f"{gap.name}  {', '.join(gap.claims)}", style="bold")
    for line in lines_of(Text(say(gap.explanation)), console.width):
        console.print(line)
    facts = {
        Sentence("code"): gap.code,
        Sentence("found by"): say(FOUND_BY[gap.shown_by]),
        Sentence("with it"): f"{program} trace --gap {gap.name}",
        Sentence("without"): f"{program} trace --fixed {shlex.quote(str(scene_of_gap(gap.name)))}",
    }
    labels = {label: say(label) for label in facts}
    widest = max(map(cell_len, labels.values()))
    console.print()
    for label, fact in facts.items():
        space = " " * (widest - cell_len(labels[label]) + 2)
        console.print(f"  {labels[label]}{space}{fact}", soft_wrap=True)
    console.print()
