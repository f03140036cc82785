"""A step as the panes of a screen show it. What is marked is marked by a character; colour only helps."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from ..trace.steps import Location, Step
from .changes import changes
from .cursor import Cursor
from .source import Sources
from .terminal import SOON_US, heading, messages, time_of, visible


def steps_pane(cursor: Cursor, rows: int) -> Text:
    """As many steps around the present one as there are rows for."""
    place = cursor.step.number - 1
    first = max(0, min(place - rows // 3, len(cursor.steps) - rows))
    return Text("\n").join(
        _row(step, step is cursor.step) for step in cursor.steps[first : first + max(rows, 1)]
    )


def step_pane(step: Step, uid: int | None, width: int) -> Text:
    """What moved, and when it was taken in."""
    lines = list(_facts(step))
    if step.kind != "gap":
        # A batch begins with the one that the reader follows.
        lines += sorted(messages(step, width), key=lambda line: not line.plain.startswith(f"uid={uid} "))
    return Text("\n").join(lines)


def code_pane(step: Step, depth: int, rows: int, sources: Sources) -> Text:
    """The lines around the code that sent it, or around its ``depth``-th caller; that line has a ``>``."""
    where = step.where or _of_gap(step, sources)
    if not where:
        return Text("" if step.kind in ("gap", "fork") else "This came from outside of the server.")
    depth %= len(where)
    location = where[depth]
    called = f"  (caller {depth})" if depth else ""
    lines = [Text(f"{location.file}:{location.line}{called}", style="bold"), Text(location.function)]
    margin = max(1, (rows - len(lines) - 1) // 2)
    for number, line in sources.around(location, margin):
        here = number == location.line
        lines.append(Text(f"{'>' if here else ' '}{number:4} {visible(line)}", "reverse" if here else ""))
    return Text("\n").join(lines)


def state_pane(step: Step) -> Text:
    """What the step changed (``+`` new, ``-`` gone, ``~`` another amount), then what is held after it."""
    changed = list(_changed(step))
    lines = [Text("changed by this step", style="bold")]
    lines += changed or [Text("  nothing")]
    lines.append(Text("held after it", style="bold"))
    lines += _held(step)
    return Text("\n").join(lines)


def _of_gap(step: Step, sources: Sources) -> list[Location]:
    """Where the code of a gap that was found begins."""
    files = [known["code"] for known in step.content if step.kind == "gap"]
    return [Location(file, sources.first_class(file), step.gap) for file in files]


def _row(step: Step, here: bool) -> Text:
    mark = {"gap": "!", "fork": "Y"}.get(step.kind, " ")
    row = Text(f"{'>' if here else ' '}{mark}#{step.number:<5} {time_of(step.t_us)}  ")
    if step.kind == "gap":
        row.append(f"GAP {step.gap or 'left behind'} at {step.source}  uid={step.uids[0]}", "red")
    else:
        row.append(f"{step.source} → {step.target}  ")
        row.append_text(heading(step))
        if step.kind in ("message", "call"):
            row.append(f"  uid={','.join(map(str, step.uids))}")
    row.truncate(400)
    if here:
        row.stylize("reverse")
    return row


def _facts(step: Step) -> Iterator[Text]:
    if step.kind == "gap":
        yield Text(f"GAP {step.gap or 'left behind'}  {', '.join(step.claims)}", style="bold red")
        yield Text(f"uid {step.uids[0]} at {step.source}: {step.note}")
        yield from (Text(f"{known['code']}: {known['summary']}") for known in step.content)
    elif step.note:
        yield Text(step.note, style="yellow")
    if step.kind == "message" and step.arrived_us is None:
        yield Text(f"{step.target} never takes it in", style="yellow")
    elif step.arrived_us is not None and step.arrived_us - step.t_us > SOON_US:
        yield Text(f"{step.target} takes it in at {time_of(step.arrived_us)}", style="yellow")


def _changed(step: Step) -> Iterator[Text]:
    for change in changes(step.before, step.after):
        for what, before, after in change.parts():
            if before != after:
                mark = "+" if before is None else "-" if after is None else "~"
                amounts = [str(amount) for amount in (before, after) if amount is not None]
                amount = " → ".join(amounts)
                yield Text(f"{mark} {change.component} {change.uid}: {what} {amount}", style="bold")


def _held(step: Step) -> Iterator[Text]:
    changed = {(change.component, change.uid) for change in changes(step.before, step.after)}
    for component, held in sorted(step.after.items()):
        if not held:
            yield Text(f"  {component}: nothing")
        for uid, parts in sorted(held.items()):
            amounts = ", ".join(f"{what} {amount}" for what, amount in parts.items())
            yield Text(f"{'~' if (component, uid) in changed else ' '} {component} {uid}: {amounts}")
