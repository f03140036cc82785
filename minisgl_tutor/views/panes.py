"""A step as the panes of a screen show it. What is marked is marked by a character; colour only helps."""

from __future__ import annotations

from collections.abc import Iterator

from rich.cells import chop_cells
from rich.text import Text

from ..language import Sentence, Tongue
from ..trace.steps import Location, Step
from .breaks import lines_of
from .changes import changes
from .cursor import Cursor
from .source import Sources
from .terminal import (
    NONE_HELD,
    amount_of,
    finding,
    gap_name,
    heading,
    messages,
    taken_in_late,
    time_of,
    visible,
)

NUMBER_WIDTH = 6
"""Of a line's mark and number, in front of it."""


def steps_pane(cursor: Cursor, rows: int, say: Tongue) -> Text:
    """As many steps around the present one as there are rows for."""
    place = cursor.step.number - 1
    first = max(0, min(place - rows // 3, len(cursor.steps) - rows))
    return Text("\n").join(
        _row(step, step is cursor.step, say) for step in cursor.steps[first : first + max(rows, 1)]
    )


def step_pane(step: Step, uid: int | None, width: int, say: Tongue) -> Text:
    """What moved, and when it was taken in."""
    lines = list(_facts(step, say))
    if step.kind != "gap":
        # A batch begins with the one that the reader follows.
        lines += sorted(messages(step, width), key=lambda line: not line.plain.startswith(f"uid={uid} "))
    return Text("\n").join(part for line in lines for part in lines_of(line, width))


def code_pane(step: Step, depth: int, rows: int, width: int, sources: Sources, say: Tongue) -> Text:
    """The lines around the code that sent it, or around its ``depth``-th caller; that line has a ``>``.

    Lines that are longer than ``width`` go on in the next row.
    """
    where = step.where or _of_gap(step, sources)
    if not where:
        outside = Sentence("This came from outside of the server.")
        return Text("" if step.kind in ("gap", "fork") else say(outside))
    depth %= len(where)
    location = where[depth]
    place = Text(f"{location.file}:{location.line}", style="bold")
    if depth:
        place.append(say(Sentence("  (caller {depth})", depth=depth)))
    head = [place, Text(location.function)]
    around = sources.around(location, max(1, rows // 2))
    shown = {number: list(_code_line(number, line, location, width)) for number, line in around}
    return Text("\n").join([*head, *_rows_around(shown, location.line, rows - len(head))])


def _code_line(number: int, line: str, location: Location, width: int) -> Iterator[Text]:
    here = number == location.line
    room = max(1, width - NUMBER_WIDTH)
    for place, piece in enumerate(chop_cells(visible(line), room) or [""]):
        label = f"{number:4} " if place == 0 else " " * 5
        yield Text(f"{'>' if here else ' '}{label}{piece}", "reverse" if here else "")


def _rows_around(shown: dict[int, list[Text]], here: int, rows: int) -> list[Text]:
    """The rows of the line ``here`` and of as many whole lines around it as there is room for."""
    first = last = here
    taken = list(shown.get(here, []))
    while (above := shown.get(first - 1)) or shown.get(last + 1):
        below = shown.get(last + 1)
        if below and len(taken) + len(below) <= rows:
            taken, last = [*taken, *below], last + 1
        elif below:
            break
        if above and len(taken) + len(above) <= rows:
            taken, first = [*above, *taken], first - 1
        elif above:
            break
    return taken


def state_pane(step: Step, say: Tongue) -> Text:
    """What the step changed (``+`` new, ``-`` gone, ``~`` another amount), then what is held after it."""
    changed = list(_changed(step, say))
    lines = [Text(say(Sentence("changed by this step")), style="bold")]
    lines += changed or [Text(f"  {say(NONE_HELD)}")]
    lines.append(Text(say(Sentence("held after it")), style="bold"))
    lines += _held(step, say)
    return Text("\n").join(lines)


def _of_gap(step: Step, sources: Sources) -> list[Location]:
    """Where the code of a gap that was found begins."""
    files = [known["code"] for known in step.content if step.kind == "gap"]
    return [Location(file, sources.first_class(file), step.gap) for file in files]


def _row(step: Step, here: bool, say: Tongue) -> Text:
    mark = {"gap": "!", "fork": "Y"}.get(step.kind, " ")
    row = Text(f"{'>' if here else ' '}{mark}#{step.number:<5} {time_of(step.t_us)}  ")
    if step.kind == "gap":
        row.append(f"GAP {say(gap_name(step))}  {step.source}  uid={step.uids[0]}", "red")
    else:
        row.append(f"{step.source} → {step.target}  ")
        row.append_text(heading(step, say))
        if step.kind in ("message", "call"):
            row.append(f"  uid={','.join(map(str, step.uids))}")
    row.truncate(400)
    if here:
        row.stylize("reverse")
    return row


def _facts(step: Step, say: Tongue) -> Iterator[Text]:
    if step.kind == "gap":
        yield Text(f"GAP {say(gap_name(step))}  {', '.join(step.claims)}", style="bold red")
        yield Text(say(finding(step)))
        yield from (Text(f"{known['code']}: {say(known['summary'])}") for known in step.content)
    elif step.note:
        yield Text(say(step.note), style="yellow")
    late = taken_in_late(step)
    if step.kind == "message" and step.arrived_us is None:
        yield Text(say(Sentence("{target} never takes it in", target=step.target)), style="yellow")
    elif late:
        yield Text(say(late), style="yellow")


def _changed(step: Step, say: Tongue) -> Iterator[Text]:
    for change in changes(step.before, step.after):
        for what, before, after in change.parts():
            if before != after:
                mark = "+" if before is None else "-" if after is None else "~"
                amounts = [say(amount_of(what, amount)) for amount in (before, after) if amount is not None]
                amount = " → ".join(amounts)
                yield Text(f"{mark} {change.component} {change.uid}: {what} {amount}", style="bold")


def _held(step: Step, say: Tongue) -> Iterator[Text]:
    changed = {(change.component, change.uid) for change in changes(step.before, step.after)}
    for component, held in sorted(step.after.items()):
        if not held:
            yield Text(f"  {component}: {say(NONE_HELD)}")
        for uid, parts in sorted(held.items()):
            amounts = ", ".join(f"{what} {say(amount_of(what, amount))}" for what, amount in parts.items())
            yield Text(f"{'~' if (component, uid) in changed else ' '} {component} {uid}: {amounts}")
