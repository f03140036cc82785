"""Steps as text for a terminal or a pipe: one block for each hop."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Any

from rich.cells import chop_cells
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from ..language import Sentence, Tongue, counted, verbatim
from ..trace.play import Play
from ..trace.steps import Held, Location, Step
from ..trace.tracer import FRONT
from .breaks import lines_of

UID_COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "red")
INDENT = 7
LONGEST_VALUE = 160
SOON_US = 1_000
"""A message that is taken in later than this after it was sent is said to be."""

LEGEND = Sentence(
    "A block is a hop: its number, the virtual time, from → to. Below it: the message, the line of code that "
    "sent it, and what is held once it has been dealt with. ack_map has each request's unread replies, "
    "event_map says whether its consumer's event is set; other components are shown where they changed, "
    "with how much they hold: slot 1 is one slot. GAP marks what the auditor found wrong; C5.158 and the "
    "like number the statements of the chapter that describe it."
)

SET, CLEAR, EMPTY, NONE_HELD = Sentence("set"), Sentence("clear"), Sentence("[]"), Sentence("nothing")

END_OF_A_PART = re.compile(r"[,:{](?=\S)|(?<=[^\s\"])\s")
"""What a line of JSON may end with: a mark behind which more comes, or a space that does not begin a text."""

ALL_IS_WELL = Sentence("Every request ended, and nobody holds anything for one that did.")


def print_play(console: Console, title: Sentence, play: Play, say: Tongue) -> None:
    """A scene: its title, every step, and what the auditor found."""
    print_opening(console, title, play.gaps, say)
    for step in play.steps:
        print_step(console, step, say)
    print_verdict(console, play, say)


def print_opening(console: Console, title: Sentence, gaps: tuple[str, ...], say: Tongue) -> None:
    console.print(Rule(Text(visible(say(title)), style="bold"), align="left"))
    names = ", ".join(gaps) or Sentence("none")
    console.print(Text(say(Sentence("gaps switched on: {names}", names=names)), style="dim"))
    console.print()


def print_legend(console: Console, say: Tongue) -> None:
    for line in lines_of(Text(say(LEGEND), style="dim"), console.width):
        console.print(line)
    console.print()


def print_step(console: Console, step: Step, say: Tongue) -> None:
    if step.kind == "gap":
        _print_gap(console, step, say)
        return
    head = Text(f"#{step.number:<5}", style="bold")
    head.append(f" {time_of(step.t_us)}  ", style="dim")
    head.append(f"{step.source} → {step.target}  ", style="bold")
    head.append_text(heading(step, say))
    _print_head(console, head)
    for line in messages(step, console.width - INDENT):
        _print_below(console, line)
    if step.kind == "fork":
        _print_below(console, Text(say(step.note), style="yellow"))
    if step.where:
        place = step.where[0]
        _print_below(console, Text(f"{place.file}:{place.line}  {_callers(step.where)}", style="dim"))
    late = taken_in_late(step)
    if late:
        _print_below(console, Text(say(late), style="yellow"))
    if step.kind == "message":
        _print_below(console, _front(step.after, say))
    for component in step.changed():
        if component != FRONT:
            _print_below(console, _component(component, step.after, say))


def print_verdict(console: Console, play: Play, say: Tongue) -> None:
    if not play.findings:
        console.print(Text(say(ALL_IS_WELL), style="green"))
    else:
        found = counted(
            "The auditor found one thing wrong (marked GAP above).",
            "The auditor found {count} things wrong (marked GAP above).",
            count=len(play.findings),
        )
        console.print(Text(say(found), style="red"))
    console.print()


def _print_gap(console: Console, step: Step, say: Tongue) -> None:
    line = Text(f"#{step.number:<5} {time_of(step.t_us)}  GAP {say(gap_name(step))}", style="bold red")
    line.append(f"  {', '.join(step.claims)}", style="red")
    _print_head(console, line)
    _print_below(console, Text(say(finding(step)), style="red"))
    for known in step.content:
        _print_below(console, Text(f"{known['code']}: {say(known['summary'])}", style="dim"))
    for component, parts in step.after.items():
        if step.uids[0] in parts and component != FRONT:
            _print_below(console, _component(component, step.after, say))
    _print_below(console, _front(step.after, say))


def gap_name(step: Step) -> Sentence:
    """What a finding is called: the gap's name, if it is a known one."""
    return verbatim(step.gap) if step.gap else Sentence("left behind")


def finding(step: Step) -> Sentence:
    """What was found wrong, with whom and where."""
    return Sentence("uid {uid} at {place}: {note}", uid=step.uids[0], place=step.source, note=step.note)


def taken_in_late(step: Step) -> Sentence | None:
    """When a message was taken in, if not soon; null: soon, or never."""
    if step.arrived_us is None or step.arrived_us - step.t_us <= SOON_US:
        return None
    return Sentence("{target} takes it in at {time}", target=step.target, time=time_of(step.arrived_us))


def _print_head(console: Console, text: Text) -> None:
    """What does not fit into the first line stands below it, as all else of the step."""
    first, *others = lines_of(text, console.width)
    console.print(first)
    for each in others:
        _print_below(console, each)


def _print_below(console: Console, text: Text) -> None:
    for line in lines_of(text, console.width - INDENT):
        console.print(Text(" " * INDENT).append_text(line))


def time_of(us: int) -> str:
    return f"{us / 1e6:.6f} s"


def heading(step: Step, say: Tongue) -> Text:
    """The rest of a step's first line: what kind of thing moved, and for whom."""
    if step.kind == "fork":
        return Text(f"FORK {step.title}", style="bold yellow")
    if step.kind != "client":
        return Text(step.title)
    content = step.content[0]
    if step.uids:
        text = Text(f"uid={step.uids[0]} ", style=_colour(step.uids[0]))
    else:
        text = Text(say(Sentence("request {rid}", rid=content["request"])) + " ")
    match step.title:
        case "request":
            text.append(visible(content["line"]))
        case "chunk":
            text.append(say(Sentence("a chunk")))
        case "left":
            text.append(say(Sentence("the client closes its connection")), style="bold yellow")
        case "completed":
            complete = Sentence("the answer is complete, status {status}", status=content["status"])
            text.append(say(complete), style="green")
        case "truncated":
            text.append(say(Sentence("the server breaks the answer off")), style="bold yellow")
        case "app failed":
            text.append(say(Sentence("the server's code failed: {what}", what=content["note"])), style="red")
        case _:
            text.append(say(content["note"]))
    return text


def messages(step: Step, width: int) -> Iterator[Text]:
    """What moved, one text for each message; an event is cut between its parts."""
    for content in step.content:
        if step.title == "request":
            yield Text(_shortened(content["body"]))
        elif step.title == "chunk":
            yield from (Text(line) for line in _parts(_event(content["text"]), width))
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


def _parts(text: str, width: int) -> Iterator[str]:
    """Lines of at most ``width`` cells, cut behind a mark of JSON, or a word, if one is near the end."""
    while len(lines := chop_cells(text, width)) > 1:
        whole = len(lines[0])
        ends = [found.end() for found in END_OF_A_PART.finditer(text, 0, whole + 1) if found.end() <= whole]
        cut = ends[-1] if ends and ends[-1] > whole // 2 else whole
        yield text[:cut]
        text = text[cut:]
    yield text


def _callers(where: list[Location]) -> str:
    """The function that sent it and the one that called that, the class named once."""
    names = [location.function.rpartition(".<locals>.")[2] for location in where[:2]]
    owner = names[0].rpartition(".")[0]
    return " ← ".join([names[0], *(name.removeprefix(f"{owner}.") for name in names[1:])])


def _front(held: Held, say: Tongue) -> Text:
    """``ack_map`` with the number of unread replies, ``event_map`` with the state of the event (C5.51)."""
    parts = held.get(FRONT, {})
    acks, events = (
        ", ".join(f"{uid}: {say(amount_of(what, kept[what]))}" for uid, kept in parts.items() if what in kept)
        for what in ("ack_map", "event_map")
    )
    return Text(f"ack_map {{{acks}}}  event_map {{{events}}}", style="blue")


def _component(name: str, held: Held, say: Tongue) -> Text:
    parts = held.get(name, {})
    kept = "; ".join(f"{uid}: {_amounts(what)}" for uid, what in parts.items())
    what = Sentence("{name} holds {kept}", name=name, kept=kept or NONE_HELD)
    return Text(say(what), style="blue")


def amount_of(what: str, amount: int) -> Sentence:
    """How much is held: ``ack_map`` has unread replies, ``event_map`` an event's state, all else a number."""
    if what == "ack_map":
        return counted("{count} reply", "{count} replies", count=amount) if amount else EMPTY
    if what == "event_map":
        return SET if amount else CLEAR
    return verbatim(str(amount))


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
