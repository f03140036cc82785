"""``minisgl-tutor gaps``: the faults that can be switched on, and where each is seen."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from ..language import Sentence, Tongue
from .caller import caller
from .program import program
from .told import tell, tell_next

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ..gaps import Gap

FOUND_BY = {
    "auditor": Sentence("the auditor, by what is held and sent"),
    "books": Sentence("the scheduler's own books (check_integrity)"),
    "answer": Sentence("the auditor, by the answer and its tokens"),
    "wire": Sentence("the auditor, by what the client is told"),
}
IN_SHORT = {
    "auditor": Sentence("auditor"),
    "books": Sentence("books"),
    "answer": Sentence("answer"),
    "wire": Sentence("wire"),
}
WHO_HAS_IT = {
    "chapter": Sentence("In the reference, as the chapters tell"),
    "reference": Sentence("In the reference, as runs of it showed"),
    "this project": Sentence("In nobody's code: mistakes that are easy to make"),
}
COLUMNS = (Sentence("gap"), Sentence("what is wrong"), Sentence("found by"))
LEGEND = Sentence(
    "Found by: the auditor, which looks at what is held and sent; the books, the scheduler's own "
    "(check_integrity); the answer, held against its tokens; the wire, what the client is told, held "
    "against what is so."
)

WIDEST = 100
"""Columns of the list: beyond, the eye loses its line."""


def gaps(
    context: typer.Context,
    name: Annotated[
        str | None, typer.Argument(help="Explain this one, and say how to see it.", show_default=False)
    ] = None,
) -> None:
    """List the faults that can be switched on: what is wrong, who has it, and what finds it."""
    from rich.console import Console

    from ..gaps import GAPS, UnknownGap, resolve
    from ..language import sentence_of
    from .fail import fail

    say = caller(context).say
    console = Console(highlight=False)
    if name is None:
        _list(console, GAPS, say)
        return
    try:
        chosen = resolve([name])
    except UnknownGap as error:
        fail(sentence_of(error))
    for gap in GAPS:
        if gap.name in chosen:
            _explain(console, gap, program(), say)


def _list(console: Console, gaps: Sequence[Gap], say: Tongue) -> None:
    from rich.cells import cell_len
    from rich.table import Table

    from ..views.breaks import BREAK, with_breaks

    names, about, found_by = map(say, COLUMNS)
    widest = max(cell_len(gap.name) for gap in gaps)
    last = max(cell_len(say(each)) for each in (COLUMNS[2], *IN_SHORT.values()))
    with console.capture() as printed:
        for number, (source, heading) in enumerate(WHO_HAS_IT.items()):
            table = Table(box=None, pad_edge=False, show_header=not number, width=min(console.width, WIDEST))
            table.add_column(names, min_width=widest, no_wrap=True)
            table.add_column(about, ratio=1)
            table.add_column(found_by, min_width=last, no_wrap=True)
            for gap in gaps:
                if gap.source == source:
                    table.add_row(gap.name, with_breaks(say(gap.summary)), say(IN_SHORT[gap.shown_by]))
            console.print(("\n" if number else "") + say(heading), style="bold")
            console.print(table)
        console.print()
        console.print(with_breaks(say(LEGEND)), style="dim")
    typer.echo(printed.get().replace(BREAK, ""), nl=False)
    steps = {
        "gaps double-free": Sentence("explains one"),
        "trace --gap double-free": Sentence("plays a scene in which it is found"),
    }
    typer.echo()
    tell_next(steps, say)


def _explain(console: Console, gap: Gap, program: str, say: Tongue) -> None:
    from rich.cells import cell_len
    from rich.text import Text

    from ..views.breaks import lines_of

    typer.secho(f"{gap.name}  {', '.join(gap.claims)}", bold=True)
    for line in lines_of(Text(say(gap.explanation)), console.width):
        console.print(line)
    facts = {
        Sentence("code"): gap.code,
        Sentence("found by"): say(FOUND_BY[gap.shown_by]),
        Sentence("with it"): f"{program} trace --gap {gap.name}",
        Sentence("without"): f"{program} trace {_scene(gap)} --fixed",
    }
    labels = {label: say(label) for label in facts}
    widest = max(map(cell_len, labels.values()))
    console.print()
    for label, fact in facts.items():
        space = " " * (widest - cell_len(labels[label]) + 2)
        tell(f"  {labels[label]}{space}{fact}")
    console.print()


def _scene(gap: Gap) -> str:
    """The gap's own scene, as ``trace`` takes it."""
    from ..exercises.workspace import shown
    from ..trace.scenes import CHAPTER_OF_GAPS, scene_of_gap

    if gap.scene:
        return f"--chapter {CHAPTER_OF_GAPS} --scene {gap.scene}"
    return shlex.quote(shown(scene_of_gap(gap.name)))
