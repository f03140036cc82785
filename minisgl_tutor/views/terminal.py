"""Steps as text for a terminal or a pipe: one block for each hop."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import Any

from rich.cells import chop_cells
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ..trace.play import Play
from ..trace.steps import Held, Location, Step
from ..trace.tracer import FRONT

UID_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
INDENT = 7
LONGEST_VALUE = 160
SOON_US = 1_000
"""A message that is taken in later than this after it was sent is said to be."""

LEGEND = """\
A block is a hop: its number, the virtual time, from → to. Below it: the message, the line of code that
sent it, and what is held once it has been dealt with. ack_map has each request's unread replies, event_map
says whether its consumer's event is set; other components are shown where they changed. GAP marks what the
auditor found wrong; C5.158 and the like number the statements of the chapter that describe it.
"""


def print_play(console: Console, title: str, play: Play, from_step: int = 1) -> None:
    """A scene: its title, every step from ``from_step`` on, and what the auditor found."""
    print_opening(console, title, play.gaps)
    for step in play.steps[from_step - 1 :]:
        print_step(console, step)
    print_verdict(console, play)


def print_opening(console: Console, title: str, gaps: tuple[str, ...]) -> None:
    console.print(Rule(Text(visible(title), style="bold"), align="left"))
    console.print(Text(f"gaps switched on: {', '.join(gaps) or 'none'}", style="dim"))
    console.print()


def print_legend(console: Console) -> None:
    for line in Text(LEGEND.replace("\n", " ").strip(), style="dim").wrap(console, console.width):
        line.rstrip()
        console.print(line)
    console.print()


def print_next(console: Console, program: str, chapter: int, scenes: list[str]) -> None:
    """What a reader of a chapter's scenes may do next."""
    trace = f"{program} trace --chapter {chapter}"
    console.print(Text("Next:", style="bold"))
    console.print(f"  {trace} --fixed", soft_wrap=True)
    console.print(f"  {trace} --scene NAME     of {', '.join(scenes)}", soft_wrap=True)
    console.print(f"  {program} start exercise-7", soft_wrap=True)


def print_step(console: Console, step: Step) -> None:
    if step.kind == "gap":
        _print_gap(console, step)
        return
    head = Text(f"#{step.number:<5}", style="bold")
    head.append(f" {time_of(step.t_us)}  ", style="dim")
    head.append(f"{step.source} → {step.target}  ", style="bold")
    head.append_text(heading(step))
    console.print(head)
    for line in messages(step, console.width - INDENT):
        _print_below(console, line)
    if step.kind == "fork":
        _print_below(console, Text(step.note, style="yellow"))
    if step.where:
        place = step.where[0]
        _print_below(console, Text(f"{place.file}:{place.line}  {_callers(step.where)}", style="dim"))
    if step.arrived_us is not None and step.arrived_us - step.t_us > SOON_US:
        _print_below(
            console, Text(f"{step.target} takes it in at {time_of(step.arrived_us)}", style="yellow")
        )
    if step.kind == "message":
        _print_below(console, _front(step.after))
    for component in step.changed():
        if component != FRONT:
            _print_below(console, _component(component, step.after))


def print_verdict(console: Console, play: Play) -> None:
    if not play.findings:
        console.print(Text("Every request ended, and nobody holds anything for one that did.", style="green"))
    else:
        count = len(play.findings)
        things = "one thing" if count == 1 else f"{count} things"
        console.print(Text(f"The auditor found {things} wrong (marked GAP above).", style="red"))
    console.print()


def _print_gap(console: Console, step: Step) -> None:
    line = Text(f"#{step.number:<5} {time_of(step.t_us)}  GAP {step.gap or 'left behind'}", style="bold red")
    line.append(f"  {', '.join(step.claims)}", style="red")
    console.print(line)
    _print_below(console, Text(f"uid {step.uids[0]} at {step.source}: {step.note}", style="red"))
    for known in step.content:
        _print_below(console, Text(f"{known['code']}: {known['summary']}", style="dim"))
    for component, parts in step.after.items():
        if step.uids[0] in parts and component != FRONT:
            _print_below(console, _component(component, step.after))
    _print_below(console, _front(step.after))


def _print_below(console: Console, text: Text) -> None:
    for line in text.wrap(console, console.width - INDENT):
        line.rstrip()
        console.print(Text(" " * INDENT).append_text(line))


def time_of(us: int) -> str:
    return f"{us / 1e6:.6f} s"


def heading(step: Step) -> Text:
    """The rest of a step's first line: what kind of thing moved, and for whom."""
    if step.kind == "fork":
        return Text(f"FORK {step.title}", style="bold yellow")
    if step.kind != "client":
        return Text(step.title)
    content = step.content[0]
    who = f"uid={step.uids[0]}" if step.uids else f"request {content['request']}"
    text = Text(f"{who} ", style=_colour(step.uids[0]) if step.uids else "")
    match step.title:
        case "request":
            text.append(visible(content["line"]))
        case "chunk":
            text.append("a chunk")
        case "left":
            text.append("the client closes its connection", style="bold yellow")
        case "completed":
            text.append(f"the answer is complete, status {content['status']}", style="green")
        case _:
            text.append(f"{step.title} {content.get('note', '')}")
    return text


def messages(step: Step, width: int) -> Iterator[Text]:
    """What moved, one text for each message; an event is cut where the line ends, as it has no words."""
    for content in step.content:
        if step.title == "request":
            yield Text(_shortened(content["body"]))
        elif step.title == "chunk":
            yield from (Text(line) for line in chop_cells(_event(content["text"]), width))
        elif step.kind != "client":
            line = Text(f"uid={content['uid']} ", style=_colour(content["uid"]))
            if content["type"] != step.title:
                line.append(f"{content['type']} ")
            line.append(_fields(content), style="default")
            yield line


def _event(text: str) -> str:
    """An event without what is the same in every one of its stream."""
    head, choices, rest = text.strip().replace(',"logprobs":null', "").partition('"choices":')
    cut = choices and head.startswith("data: {")
    return _shortened(f"data: {{…{choices}{rest}" if cut else f"{head}{choices}{rest}")


def _callers(where: list[Location]) -> str:
    """The function that sent it and the one that called that, the class named once."""
    names = [location.function.rpartition(".<locals>.")[2] for location in where[:2]]
    owner = names[0].rpartition(".")[0]
    return " ← ".join([names[0], *(name.removeprefix(f"{owner}.") for name in names[1:])])


def _front(held: Held) -> Text:
    """``ack_map`` with the number of unread replies, ``event_map`` with the state of the event (C5.51)."""
    parts = held.get(FRONT, {})
    acks = [f"{uid}: {_replies(kept['ack_map'])}" for uid, kept in parts.items() if "ack_map" in kept]
    events = [
        f"{uid}: {'set' if kept['event_map'] else 'clear'}"
        for uid, kept in parts.items()
        if "event_map" in kept
    ]
    return Text(f"ack_map {{{', '.join(acks)}}}  event_map {{{', '.join(events)}}}", style="blue")


def _component(name: str, held: Held) -> Text:
    parts = held.get(name, {})
    kept = "; ".join(f"{uid}: {_amounts(what)}" for uid, what in parts.items())
    return Text(f"{name} holds {kept or 'nothing'}", style="blue")


def _replies(count: int) -> str:
    return "[]" if count == 0 else "1 reply" if count == 1 else f"{count} replies"


def _amounts(what: dict[str, int]) -> str:
    return ", ".join(f"{name} {amount}" for name, amount in what.items())


def _fields(content: dict[str, Any]) -> str:
    shown = {name: value for name, value in content.items() if name not in ("type", "uid")}
    return " ".join(f"{name}={_value(value)}" for name, value in shown.items() if value is not None)


def _value(value: object) -> str:
    if isinstance(value, dict):
        return f"({', '.join(f'{name}={item!r}' for name, item in value.items())})"
    return _shortened(repr(value))


def _shortened(text: str) -> str:
    return visible(text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…")


def visible(text: str) -> str:
    """A control character as its escape: what a client sent must not command the reader's terminal."""
    return "".join(repr(each)[1:-1] if _commands(each) else each for each in text)


def _commands(character: str) -> bool:
    return unicodedata.category(character) == "Cc" and character not in "\n\t"


def _colour(uid: int) -> str:
    return UID_COLOURS[uid % len(UID_COLOURS)]
