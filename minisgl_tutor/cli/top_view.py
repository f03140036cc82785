"""How ``top`` shows a report of the live audit: as lines, or drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size

from ..language import Sentence, Tongue, counted

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..server.operations.audit import ComponentHeld, Report, RequestHeld

RESIDUE = Sentence("RESIDUE")
COLUMNS = (
    Sentence("uid"),
    Sentence("status"),
    Sentence("age"),
    Sentence("held by"),
    Sentence("what"),
    Sentence("for"),
)
STATES = (Sentence("waiting"), Sentence("running"), Sentence("answered"), Sentence("ended"))
"""Of a request, as the audit names them."""

NOT_ROWS = 6
"""Lines of a screen that are not of a request, besides one for each component."""

Row = tuple[str, str, str, str, str, str]


def lines(report: Report, say: Tongue) -> Iterator[str]:
    """Plain text, a line for each component that holds something for a request."""
    yield say(title(report))
    for component in report.components:
        yield f"  {component.component}: {say(_told(component))}"
    table = [_head(say), *(row for each in report.requests for row in rows(each, report.components, say))]
    if len(table) == 1:
        return
    widths = [max(cell_len(row[i]) for row in table) for i in range(len(COLUMNS))]
    for row in table:
        yield "  ".join(set_cell_size(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if more := _more(report, len(report.requests), say):
        yield more


def drawn(report: Report, url: str, height: int, say: Tongue) -> RenderableType:
    """The same for a terminal of ``height`` lines, which has room for so many requests only."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    said = Text(f"{say(title(report))}  {url}", style="bold red" if report.residue_requests else "bold")
    components = Table(box=None, pad_edge=False, show_header=False)
    for component in report.components:
        components.add_row(component.component, say(_told(component)))
    requests = Table(*_head(say), box=None, pad_edge=False)
    room, shown = height - NOT_ROWS - len(report.components), 0
    for request in report.requests:
        its_rows = rows(request, report.components, say)
        room -= len(its_rows)
        if room < 0:
            break
        shown += 1
        for row in its_rows:
            requests.add_row(*row, style="red" if request.residue else None)
    end = say(Sentence("Ctrl+C ends."))
    return Group(said, components, "", requests, _more(report, shown, say), end)


def title(report: Report) -> Sentence:
    """The sum of it in a line."""
    held, residue = report.held_requests, report.residue_requests
    if not held:
        return Sentence("{model}: nothing is held for any request", model=report.model)
    found = Sentence("no residue")
    if residue:
        found = Sentence("{count} of them {residue}", count=residue, residue=RESIDUE)
    return counted(
        "{model}: something is held for {count} request, {found}",
        "{model}: something is held for {count} requests, {found}",
        count=held,
        model=report.model,
        found=found,
    )


def rows(request: RequestHeld, components: Sequence[ComponentHeld], say: Tongue) -> list[Row]:
    """A row for each component; what is about the request stands in the first."""
    state = Sentence(request.state)
    if request.ended_s is not None:
        state = Sentence("ended {time} ago", time=span(request.ended_s))
        holders = {holding.component for holding in request.held}
        if all(each.seen_s > request.ended_s for each in components if each.component in holders):
            state = Sentence("{state}, not looked since", state=state)
    if request.residue:
        state = Sentence("{residue} {state}", residue=RESIDUE, state=state)
    age = "?" if request.age_s is None else say(span(request.age_s))
    found: list[Row] = []
    for component, holdings in groupby(request.held, key=lambda holding: holding.component):
        kept = list(holdings)
        what = ", ".join(f"{holding.what} {holding.amount}" for holding in kept)
        longest = max(holding.since_s for holding in kept)
        about = ("", "", "") if found else (str(request.uid), say(state), age)
        found.append((*about, component, what, say(span(longest))))
    return found


def span(seconds: float) -> Sentence:
    """A time as short as it can be read: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 60:
        return Sentence("{seconds:.1f} s", seconds=seconds)
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return Sentence("{minutes} min {seconds} s", minutes=minutes, seconds=rest)
    return Sentence("{hours} h {minutes} min", hours=minutes // 60, minutes=minutes % 60)


def _head(say: Tongue) -> Row:
    uid, state, age, holder, what, time = map(say, COLUMNS)
    return uid, state, age, holder, what, time


def _told(component: ComponentHeld) -> Sentence:
    values: dict[str, Any] = {
        "count": component.requests,
        "seen": span(component.seen_s),
        "step": span(component.step_s),
    }
    if component.step_s >= 1:
        return Sentence("holds something for {count}, seen {seen} ago, in one step for {step}", **values)
    return Sentence("holds something for {count}, seen {seen} ago", **values)


def _more(report: Report, shown: int, say: Tongue) -> str:
    left = report.held_requests - shown
    return say(Sentence("and {count} more", count=left)) if left else ""
