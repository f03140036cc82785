"""A take: a recording, its play and where the reader is in it. A fork is the next take of the same scene."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from ..gaps import GAPS
from ..language import Sentence
from ..recording import Action, Recording
from ..trace.fork import first_difference, forked, under_gaps
from ..trace.play import Play
from ..trace.steps import Step
from ..views.cursor import Cursor

SLOW_US = (100_000, 400_000)
DELAYS_US = (1_000, 50_000, 1_000_000)


@dataclass(frozen=True)
class Scene:
    """``name`` is that of its forks' files. The play is under the recording's own gaps."""

    name: str
    title: Sentence
    recording: Recording


@dataclass
class Take:
    """The cursor is in the play's steps."""

    recording: Recording
    play: Play
    cursor: Cursor


@dataclass(frozen=True)
class Otherwise:
    """A way to go on that a reader may choose, and what it does."""

    label: Sentence
    action: Action
    rid: int = 0
    us: int = 0


def ways(take: Take) -> list[Otherwise]:
    """What may happen otherwise from the cursor's step on, to its message and to the request of its uid."""
    step, found = take.cursor.step, list[Otherwise]()
    if step.kind == "fork":
        return found
    rid = _request(take, step)
    if rid is not None and _client_is_there(take.play.steps[: step.number], rid):
        leaves = Sentence("disconnect: the client of request {rid} leaves now", rid=rid)
        found.append(Otherwise(leaves, "disconnect", rid))
        for us in SLOW_US:
            slow = Sentence(
                "slow: the client of request {rid} takes {ms} ms for each piece", rid=rid, ms=us // 1000
            )
            found.append(Otherwise(slow, "slow", rid, us))
        ends = Sentence("abort: the server ends request {rid} now", rid=rid)
        found.append(Otherwise(ends, "abort", rid))
    if step.kind == "message":
        found.append(Otherwise(Sentence("drop: this message is lost"), "drop"))
        for us in DELAYS_US:
            late = Sentence("delay: this message comes {ms} ms later", ms=us // 1000)
            found.append(Otherwise(late, "delay", us=us))
        found.append(Otherwise(Sentence("reorder: the next message of its link overtakes it"), "reorder"))
    return found


def fork_of(take: Take, title: Sentence, way: Otherwise) -> Recording:
    """The take's recording, going on that way from the cursor's step on.

    Raises:
        CannotFork: it cannot happen at that step.
    """
    number = take.cursor.step.number
    fork = forked(take.recording, take.play.steps, number, way.action, way.rid, way.us)
    return _titled(fork, f"{title} | step {number}: {way.action}")


def with_gap(take: Take, title: Sentence, name: str) -> Recording:
    """The take's recording with that gap on if it was off, and off if it was on, from its beginning."""
    on = set(take.play.gaps)
    gaps = on ^ {name}
    return _titled(under_gaps(take.recording, gaps), f"{title} | {name} {'on' if name in gaps else 'off'}")


def gap_labels(gaps: Iterable[str]) -> list[tuple[str, Sentence]]:
    """Every gap with a line that says whether it is on and what it does."""
    on = set(gaps)
    label = Sentence("[{on}] {name}: {summary}")
    return [
        (gap.name, label.with_values(on="x" if gap.name in on else " ", name=gap.name, summary=gap.summary))
        for gap in GAPS
    ]


def beginning(old: Take, play: Play) -> int:
    """The step of a fork's play from which it is shown: the fork itself, or the first that differs."""
    number = old.cursor.step.number
    forks = [step.number for step in play.steps[number:] if step.kind == "fork"]
    known = sum(step.kind == "fork" for step in old.play.steps)
    made = sum(step.kind == "fork" for step in play.steps)
    return forks[0] if forks and made > known else first_difference(old.play.steps, play.steps)


def _titled(recording: Recording, title: str) -> Recording:
    return Recording(msgspec.structs.replace(recording.header, title=title), recording.lines)


def _request(take: Take, step: Step) -> int | None:
    if step.kind == "client":
        rid: int = step.content[0]["request"]
        return rid
    uid = take.cursor.uid
    for known in take.play.steps:
        if known.kind == "client" and uid in known.uids:
            found: int = known.content[0]["request"]
            return found
    return next((rid for rid, first in take.play.uids.items() if first == uid), None)


def _client_is_there(steps: list[Step], rid: int) -> bool:
    """By the last of ``steps``: it has sent its request and neither got the whole answer nor left."""
    told = [step.title for step in steps if step.kind == "client" and step.content[0]["request"] == rid]
    return "request" in told and not {"completed", "truncated", "left"} & set(told)
