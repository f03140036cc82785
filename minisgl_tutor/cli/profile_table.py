"""A profile's account as a table."""

from __future__ import annotations

from pathlib import Path

import typer

from ..language import Sentence, Tongue, sentence_of
from ..profiling.account import Account, account
from ..profiling.chrome import ProfileError, finish, read_spans

VIEWER = "https://ui.perfetto.dev"
COLUMNS = (
    Sentence("phase of a step"),
    Sentence("ms, median"),
    Sentence("ms, p99"),
    Sentence("share"),
    Sentence("what it is"),
)
EXPLAINED = {
    "receive": Sentence("take messages in"),
    "schedule": Sentence("choose the next step"),
    "plan": Sentence("prepare attention"),
    "launch": Sentence("hand the step over"),
    "wait": Sentence("for the engine"),
    "postprocess": Sentence("take tokens in"),
    "send": Sentence("let replies go"),
}


def tell_profile(path: Path, say: Tongue) -> None:
    """Prints what a profile comes to, and how to look at it, on standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    try:
        finish(path)
        found = account(read_spans(path))
    except ProfileError as error:
        typer.echo(say(sentence_of(error)), err=True)
        return
    if found.steps:
        console.print(_table(found, say))
        for sentence in _sentences(found):
            console.print(say(sentence), highlight=False)
    else:
        nothing = Sentence("The profile has no step: nothing was asked of the engine.")
        console.print(say(nothing), highlight=False)
    opened = Sentence("{file}: open it at {viewer}", file=path, viewer=VIEWER)
    console.print(say(opened), highlight=False, markup=False, soft_wrap=True)


def _table(found: Account, say: Tongue) -> object:
    from rich.table import Table

    table = Table(*map(say, COLUMNS))
    for column in table.columns[1:4]:
        column.justify = "right"
    for phase in found.phases:
        table.add_row(
            phase.phase,
            f"{phase.median_ms:.3f}",
            f"{phase.p99_ms:.3f}",
            f"{phase.share:.1%}",
            say(EXPLAINED[phase.phase]),
        )
    return table


def _sentences(found: Account) -> list[Sentence]:
    sums = Sentence(
        "{steps:,} steps; {work:.2f} s of work, {wait:.2f} s of waiting for the engine, "
        "{idle:.2f} s with nothing to do.",
        steps=found.steps,
        work=found.work_s,
        wait=found.wait_s,
        idle=found.idle_s,
    )
    if not found.hidden_s:
        hid = Sentence("No work hid behind the engine: on a CPU, it computes a step within the launch.")
        return [sums, hid]
    hid = Sentence(
        "{hidden:.2f} s of the work ({share:.0%}) were done while the engine computed.",
        hidden=found.hidden_s,
        share=found.hidden_s / found.work_s,
    )
    return [sums, hid]
