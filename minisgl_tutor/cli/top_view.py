"""How ``top`` shows a report of the live audit: as lines, or drawn for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ..server.operations.audit import ComponentHeld, Report, RequestHeld

RESIDUE = "RESIDUE"
COLUMNS = ("uid", "state", "age", "held by", "what", "for")
NOT_ROWS = 6
"""Lines of a screen that are not of a request, besides one for each component."""

Row = tuple[str, str, str, str, str, str]


def lines(report: Report) -> Iterator[str]:
    """Plain text, a line for each component that holds something for a request."""
    yield title(report)
    for component in report.components:
        yield f"  {component.component}: {_told(component)}"
    table = [COLUMNS, *(row for request in report.requests for row in rows(request))]
    if len(table) == 1:
        return
    widths = [max(len(row[i]) for row in table) for i in range(len(COLUMNS))]
    for row in table:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if more := _more(report, len(report.requests)):
        yield more


def drawn(report: Report, url: str, height: int) -> RenderableType:
    """The same for a terminal of ``height`` lines, which has room for so many requests only."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    said = Text(f"{title(report)}  {url}", style="bold red" if report.residue_requests else "bold")
    components = Table(box=None, pad_edge=False, show_header=False)
    for component in report.components:
        components.add_row(component.component, _told(component))
    requests = Table(*COLUMNS, box=None, pad_edge=False)
    room, shown = height - NOT_ROWS - len(report.components), 0
    for request in report.requests:
        its_rows = rows(request)
        room -= len(its_rows)
        if room < 0:
            break
        shown += 1
        for row in its_rows:
            requests.add_row(*row, style="red" if request.residue else None)
    return Group(said, components, "", requests, _more(report, shown), "Ctrl+C ends.")


def title(report: Report) -> str:
    """The sum of it in a line."""
    held, residue = report.held_requests, report.residue_requests
    if not held:
        return f"{report.model}: nothing is held for any request"
    found = f"{residue} of them {RESIDUE}" if residue else "no residue"
    return f"{report.model}: something is held for {held} request{'s' * (held > 1)}, {found}"


def rows(request: RequestHeld) -> list[Row]:
    """A row for each component; what is about the request stands in the first."""
    state: str = request.state
    if request.ended_s is not None:
        state = f"ended {span(request.ended_s)} ago"
    if request.residue:
        state = f"{RESIDUE} {state}"
    age = "?" if request.age_s is None else span(request.age_s)
    found: list[Row] = []
    for component, holdings in groupby(request.held, key=lambda holding: holding.component):
        kept = list(holdings)
        what = ", ".join(f"{holding.what} {holding.amount}" for holding in kept)
        longest = max(holding.since_s for holding in kept)
        about = ("", "", "") if found else (str(request.uid), state, age)
        found.append((*about, component, what, span(longest)))
    return found


def span(seconds: float) -> str:
    """A time as short as it can be read: ``4.2 s``, ``3 min 20 s``, ``2 h 5 min``."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(int(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _told(component: ComponentHeld) -> str:
    told = f"holds something for {component.requests}, seen {span(component.seen_s)} ago"
    return f"{told}, in one step for {span(component.step_s)}" if component.step_s >= 1 else told


def _more(report: Report, shown: int) -> str:
    left = report.held_requests - shown
    return f"and {left} more" if left else ""
