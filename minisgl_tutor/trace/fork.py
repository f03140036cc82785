"""Another continuation of a recorded run: the recording, with a line that says from which step on and how.

Nothing is played here. A fork is a recording like any other; whoever plays it gets the same steps.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence

import msgspec

from ..gaps import resolve
from ..language import Sentence
from ..recording import Action, ArriveLine, CutLine, Event, ForkLine, Recording, SubmitLine
from ..server.backlog import SLOW_READER
from .interventions import ON_MESSAGES, sort_of
from .plan import ON_THE_WAY_US
from .steps import Step


class CannotFork(ValueError):
    """What is asked for cannot happen at that step."""


def under_gaps(recording: Recording, gaps: Iterable[str]) -> Recording:
    """The recording as if it had been taken under ``gaps``: played under its own, it gives the steps that the
    given one gives under ``gaps``.

    Raises:
        UnknownGap: a name is not known.
    """
    names = resolve(gaps)
    if set(names) == set(recording.header.gaps):
        return recording
    # When a recorded abort reached the scheduler, and who was too slow, counts under the recorded gaps alone.
    lines = [_without_aborts(line) for line in recording.lines if not _ends_slow_reader(line)]
    return Recording(msgspec.structs.replace(recording.header, gaps=list(names)), lines)


def forked(
    recording: Recording, steps: Sequence[Step], number: int, action: Action, rid: int = 0, us: int = 0
) -> Recording:
    """``recording``, going on otherwise from step ``number`` of its play on.

    ``steps`` are those of the play under the recording's own gaps; up to ``number``
    those of the fork move the same between the same. ``rid`` is the request that an
    action befalls which is not of a message; ``us`` is for how long (``ForkLine``).

    Raises:
        CannotFork: the step is no message, and the action is one on a message.
    """
    step = steps[number - 1]
    if step.kind == "fork":
        raise CannotFork(Sentence("a fork begins here already; choose the step before or behind it"))
    if action in ON_MESSAGES and step.kind != "message":
        raise CannotFork(
            Sentence(
                "step {number} is no message on a link, so it cannot be hit by {action!r}",
                number=number,
                action=action,
            )
        )
    sort = sort_of(step)
    nth = sum(sort_of(earlier) == sort for earlier in steps[:number] if earlier.kind != "fork")
    line = ForkLine(step.t_us, *sort, nth, action, rid, us)
    lines = recording.lines
    if action not in ON_MESSAGES and not _aborted(steps[:number], rid):
        lines = _without_later_aborts(lines, rid, step.t_us)
    place = bisect_right(lines, line.t, key=lambda each: each.t)
    return Recording(recording.header, [*lines[:place], line, *lines[place:]])


def first_difference(old: Sequence[Step], new: Sequence[Step]) -> int:
    """The number of the first step that is another one in ``new``; that of its last one if none is."""
    for before, after in zip(old, new, strict=False):
        if (sort_of(before), before.t_us, before.content) != (sort_of(after), after.t_us, after.content):
            return after.number
    return min(len(old) + 1, len(new))


def _without_aborts(line: Event) -> Event:
    return msgspec.structs.replace(line, aborts=[]) if isinstance(line, ArriveLine) else line


def _ends_slow_reader(line: Event) -> bool:
    return isinstance(line, CutLine) and line.code == SLOW_READER


def _aborted(steps: Sequence[Step], rid: int) -> bool:
    """An abort of the request has been sent by then; when it arrives is no matter of the fork."""
    clients = [step for step in steps if step.kind == "client" and step.content[0]["request"] == rid]
    uids = {uid for step in clients for uid in step.uids}
    messages = [each for step in steps if step.kind == "message" for each in step.content]
    return any(each["type"] in ("AbortMsg", "AbortBackendMsg") and each["uid"] in uids for each in messages)


def _without_later_aborts(lines: list[Event], rid: int, t_us: int) -> list[Event]:
    """Without the times at which aborts of ``rid`` were recorded whose cause came behind ``t_us``: it will be
    aborted for another reason.
    """
    uids = {line.uid for line in lines if isinstance(line, SubmitLine) and line.rid == rid}
    return [
        msgspec.structs.replace(line, aborts=[uid for uid in line.aborts if uid not in uids])
        if isinstance(line, ArriveLine) and line.t - ON_THE_WAY_US > t_us and not uids.isdisjoint(line.aborts)
        else line
        for line in lines
    ]
