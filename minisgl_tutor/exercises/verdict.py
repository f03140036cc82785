"""What a check comes to, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from itertools import groupby
from typing import Any

from .judge import Check, Fault, Violation
from .schedule import STEP_MS, Client, Extra, Schedule
from .sentences import say


class Exit(IntEnum):
    """Exit statuses of ``check``."""

    RIGHT = 0
    NOT_YET = 1
    UNDECIDED = 2


@dataclass(frozen=True)
class Verdict:
    """``lines`` tell it to the reader; ``failing`` are the failed checks; ``fault`` is the first one's."""

    exit: Exit
    lines: tuple[str, ...]
    failing: tuple[str, ...] = ()
    fault: str = ""


def passed(exercise: str, plays: int, seed: int) -> Verdict:
    line = say("passed", exercise=exercise, checks=len(Check), plays=plays, seed=seed)
    return Verdict(Exit.RIGHT, (line,))


def undecided(exercise: str, reason: str) -> Verdict:
    return Verdict(Exit.UNDECIDED, (say("undecided", exercise=exercise, text=reason),))


def failed(
    exercise: str,
    first: Violation,
    others: list[str],
    complete: bool,
    look: str,
    seed: int,
    printed: str,
    file: str,
) -> Verdict:
    """``complete``: every schedule was played. ``look``: the command that shows it, or why there is none."""
    rows = [
        ("check", f"{first.check}: {say(f'check {first.check}')}"),
        ("expected", say(f"expected {first.fault}", **_values(first, file))),
        ("seen", seen(first, file)),
        ("schedule", in_words(first.schedule)),
        ("look", look),
    ]
    lines = [say("failed", exercise=exercise), *(_row(name, text) for name, text in rows)]
    if not complete:
        lines.append(say("not-all"))
    elif others:
        lines.append(say("others", names=", ".join(others)))
    else:
        lines.append(say("only", count=len(Check) - 1))
    lines.append(say("seed", seed=seed))
    return Verdict(
        Exit.NOT_YET, (*lines, *_printed(printed)), (first.check.value, *others), first.fault.value
    )


def stopped(
    exercise: str, kind: str, values: dict[str, object], schedule: Schedule | None, printed: str
) -> Verdict:
    """The reader's file ended the check, at ``schedule`` or, with none, while it was loaded."""
    text = say(f"stopped {kind}", **values)
    rows = [("expected", say("expected loads")), ("seen", text)]
    if schedule is not None:
        rows.append(("schedule", in_words(schedule)))
    lines = [say("failed", exercise=exercise), *(_row(name, text) for name, text in rows), *_printed(printed)]
    return Verdict(Exit.NOT_YET, tuple(lines), ("loads",), kind)


def seen(violation: Violation, file: str) -> str:
    key = f"seen {violation.fault}"
    if violation.fault is Fault.NEVER_ENDS:
        key += f" {violation.values['what']}"
    return say(key, **_values(violation, file))


def _values(violation: Violation, file: str) -> dict[str, Any]:
    values = dict(violation.values)
    line, function = values.get("line", 0), values.get("function", "")
    values["place"] = f" ({file}, line {line}{f', in {function}' if function else ''})" if line else ""
    for name in ("where", "names"):
        if isinstance(values.get(name), list):
            values[name] = ", ".join(values[name])
    return values


def in_words(schedule: Schedule) -> str:
    count = len(schedule.clients)
    parts = [say("one client") if count == 1 else say("clients", count=count)]
    parts += [_client(index, client) for index, client in enumerate(schedule.clients)]
    if schedule.extra is not Extra.NOTHING:
        parts.append(say(schedule.extra.value))
    if schedule.spec != "2.3":
        parts.append(say("spec", spec=schedule.spec))
    return ". ".join(parts)


def _client(index: int, client: Client) -> str:
    return say(
        "later" if client.start else "client",
        index=index,
        ms=client.start * STEP_MS,
        mode=say("stream" if client.stream else "whole"),
        replies=_replies(client.replies),
        ending=say(client.ending.value, after=_replies(client.after), next=client.after + 1),
    )


def _replies(count: int) -> str:
    return say("one reply") if count == 1 else say("replies", count=count)


def _row(name: str, text: str) -> str:
    return f"  {say(name):<10} {text}"


def _printed(printed: str, most: int = 12) -> list[str]:
    if not printed.strip():
        return []
    runs = [(line, len(list(same))) for line, same in groupby(printed.rstrip().splitlines())]
    lines = [line if count == 1 else say("times", line=line, count=count) for line, count in runs]
    return [
        say("printed"),
        *(f"  {line}" for line in lines[:most]),
        *(["  ..."] if len(lines) > most else []),
    ]
