"""Judges what was seen of a play, by what should have been (exercise 7).

It is not told how the reader's class works. What a client gets is compared with
what the server's own class gives to the same clients; what is kept and sent is
compared with what the ends of the requests call for.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from ....language import Sentence, joined
from ...drill import BLOCKS, NEVER_ENDS, POLLS, RAISED, STUCK, THREAD, Found, general_fault
from .answers import latest_us, says, text_of
from .kept import MANY, growing
from .observation import Observation, Seen
from .schedule import STEP_MS, Client, Ending, Extra, Schedule

NOTICE_US = 250_000
"""Without streaming a client that left must be noticed by then; a request that ends sooner needs no abort."""

PROMPT_US = 5_000
"""What need not wait for anything must be done by then. In virtual time code itself takes none."""

HELPERS = 2
"""Tasks that may live on: the listener, and one more if the design has one."""

_ENDS = {
    "completed": Sentence("completed"),
    "truncated": Sentence("truncated"),
    "left": Sentence("the client has left"),
    "waiting": Sentence("not over"),
}

_GONE = ("CancelledError", "ClientDisconnected", "OSError", "ConnectionResetError", "BrokenPipeError")


class Check(StrEnum):
    """What is tried, in the order of the report: one way for a request to end each."""

    END_STREAMING = "end-streaming"
    END_WHOLE = "end-whole"
    FINISHED_THEN_MORE = "finished-then-more"
    LEAVE_WAITING = "leave-waiting"
    LEAVE_DELIVERING = "leave-delivering"
    LEAVE_WHOLE = "leave-whole"
    WRITE_FAILS = "write-fails"
    ENCODER_FAILS = "encoder-fails"
    SEND_FAILS = "send-fails"
    ERROR_REPLY = "error-reply"
    ABORT_MEETS_END = "abort-meets-end"
    LATE_REPLIES = "late-replies"
    NEIGHBOURS = "neighbours"
    MANY = "many"


UID_TWICE, WRONG_ANSWER, LATE_ANSWER = "uid-twice", "wrong-answer", "late-answer"
NOTICED_LATE, ABORT_MISSING, ABORT_EXTRA = "noticed-late", "abort-missing", "abort-extra"
KEPT, COMES_BACK, TASKS_LEFT, LEFT_ELSEWHERE = "kept", "comes-back", "tasks-left", "left-elsewhere"
GROWS = "grows"

FAULTS = (
    STUCK,
    POLLS,
    BLOCKS,
    THREAD,
    UID_TWICE,
    RAISED,
    NEVER_ENDS,
    WRONG_ANSWER,
    LATE_ANSWER,
    NOTICED_LATE,
    ABORT_MISSING,
    ABORT_EXTRA,
    KEPT,
    COMES_BACK,
    TASKS_LEFT,
    LEFT_ELSEWHERE,
    GROWS,
)
"""What can be wrong, roots before consequences."""


def judge(schedule: Schedule, whole: Observation, seen: Observation) -> Iterator[Found]:
    """All that is wrong in ``seen``. ``whole``: the same clients of the server's own class, none leaving."""
    for index in range(len(schedule.clients)):
        for fault, t_us, values in _faults(index, schedule, whole, seen):
            yield Found(fault, {"request": index, **values}, index, t_us)


def check_of(schedule: Schedule, fault: str) -> Check:
    """The check that a fault belongs to: by how the one client's request ends, or ``neighbours``."""
    if len(schedule.clients) > 1:
        return Check.MANY if fault == GROWS else Check.NEIGHBOURS
    if fault == COMES_BACK:
        return Check.LATE_REPLIES
    match schedule.extra:
        case Extra.ANOTHER_REPLY:
            return Check.FINISHED_THEN_MORE
        case Extra.LATE_REPLIES if fault not in (KEPT, NOTICED_LATE, ABORT_MISSING):
            return Check.LATE_REPLIES
        case Extra.ABORT_FIRST | Extra.ABORT_AFTER | Extra.ABORT_AT_END:
            return Check.ABORT_MEETS_END
        case Extra.ABORT_UNSENT:
            return Check.SEND_FAILS
    return _CHECKS[_way(schedule)]


def _way(schedule: Schedule) -> tuple[Ending, bool]:
    client = schedule.clients[0]
    newer = client.ending is Ending.LEAVES_WRITING and schedule.spec == "2.4"
    return client.ending, newer if client.ending is Ending.LEAVES_WRITING else client.stream


# By ending and whether it is a stream; for one that leaves as it is written to, whether that raises.
_CHECKS = {
    (Ending.STAYS, True): Check.END_STREAMING,
    (Ending.STAYS, False): Check.END_WHOLE,
    (Ending.LEAVES_WAITING, True): Check.LEAVE_WAITING,
    (Ending.LEAVES_WAITING, False): Check.LEAVE_WHOLE,
    (Ending.LEAVES_WRITING, False): Check.LEAVE_DELIVERING,
    (Ending.LEAVES_WRITING, True): Check.WRITE_FAILS,
    (Ending.LEAVES_STUCK, True): Check.LEAVE_DELIVERING,
    **{(Ending.LEAVES_AT_END, stream): Check.ABORT_MEETS_END for stream in (True, False)},
    **{(Ending.REFUSED, stream): Check.ERROR_REPLY for stream in (True, False)},
    **{(Ending.BREAKS, stream): Check.ERROR_REPLY for stream in (True, False)},
    **{(Ending.UNSENT, stream): Check.SEND_FAILS for stream in (True, False)},
    **{(Ending.UNENCODABLE, stream): Check.ENCODER_FAILS for stream in (True, False)},
}


Fault = tuple[str, int, dict[str, Any]]


def _faults(index: int, schedule: Schedule, whole: Observation, observation: Observation) -> Iterator[Fault]:
    client, seen, reference = schedule.clients[index], observation.clients[index], whole.clients[index]
    if index == 0:
        yield from _of_all(schedule, observation)
    if observation.stopped is not None:
        return
    extra = schedule.extra if index == 0 else Extra.NOTHING
    yield from _raised(client, extra, seen)
    if seen.end == "waiting" or seen.app == "running":
        what = "answer" if seen.end == "waiting" else "call"
        yield NEVER_ENDS, max(seen.end_us, *seen.chunks_us, 0), {"what": what}
        return
    yield from _answer(client, extra, seen, reference)
    yield from _aborts(index, client, extra, seen, whole, observation)
    if client.leaves and seen.app_us - seen.end_us > (PROMPT_US if client.stream else NOTICE_US):
        yield NOTICED_LATE, seen.end_us, {"ms": (seen.app_us - seen.end_us) // 1000}
    if seen.tasks:
        yield TASKS_LEFT, seen.app_us, {"what": "collect", "names": seen.tasks}
    if seen.kept:
        yield KEPT, max(seen.app_us, seen.end_us), {"where": seen.kept}
    elif observation.kept[index]:
        yield COMES_BACK, observation.arrivals[index][-1], {"where": observation.kept[index]}
    if observation.elsewhere[index]:
        notes = joined("; ", [note.sentence() for note in observation.elsewhere[index]])
        yield LEFT_ELSEWHERE, seen.end_us, {"text": notes}


def _of_all(schedule: Schedule, observation: Observation) -> Iterator[Fault]:
    """What cannot be told to be the doing of one client's request."""
    last_us = max(max(seen.app_us, seen.end_us) for seen in observation.clients)
    uids = [seen.uid for seen in observation.clients if seen.uid is not None]
    twice = [uid for place, uid in enumerate(uids) if uid in uids[:place]]
    if twice:
        yield UID_TWICE, last_us, {"uid": twice[0]}
    if observation.stopped is not None:
        yield general_fault(observation.stopped), last_us, {"what": "answer", **observation.stopped.values()}
        return
    for raised in observation.background:
        # A generator that swallows its cancellation ends, where the server waits for its first chunk.
        swallowed = raised.kind == "StopAsyncIteration" and any(each.leaves for each in schedule.clients)
        what = {"what": "swallowed"} if swallowed else {}
        yield general_fault(raised), last_us, {**raised.values(), **what}
    ended = all(seen.app != "running" for seen in observation.clients)
    if ended and len(observation.waiting) > HELPERS:
        yield TASKS_LEFT, last_us, {"count": len(observation.waiting), "names": observation.waiting}
    if grown := _grown(schedule, observation):
        yield GROWS, last_us, {"count": len(schedule.clients), "where": grown}


def _grown(schedule: Schedule, observation: Observation) -> list[str]:
    """Where there was more when each request had ended, if they came one after the other."""
    ends = [seen.app_us for seen in observation.clients]
    starts = [each.start * STEP_MS * 1000 for each in schedule.clients]
    if len(ends) < MANY or any(end >= start for end, start in zip(ends, starts[1:], strict=False)):
        return []
    return growing([seen.elements for seen in observation.clients])


def _raised(client: Client, extra: Extra, seen: Seen) -> Iterator[Fault]:
    if seen.raised is None or client.ending in (Ending.UNSENT, Ending.UNENCODABLE):
        return  # there something must be raised
    if extra is Extra.ABORT_UNSENT:
        return  # there it may be
    if not (client.leaves and seen.raised.kind in _GONE):
        what = {"what": "left"} if client.leaves and not client.stream else {}
        yield general_fault(seen.raised), seen.app_us, {**seen.raised.values(), **what}


def _answer(client: Client, extra: Extra, seen: Seen, reference: Seen) -> Iterator[Fault]:
    if client.leaves:
        before = sum(at_us < seen.end_us for at_us in reference.chunks_us)
        read_at_once = client.ending is not Ending.LEAVES_STUCK
        begins = reference.body.startswith(seen.body)
        if not read_at_once:  # what it is behind with may come in one piece
            begins = text_of(reference.body).startswith(text_of(seen.body))
        if not begins or (read_at_once and client.stream and len(seen.chunks_us) < min(before, client.after)):
            yield WRONG_ANSWER, seen.end_us, _texts(seen, reference)
    elif client.ending is Ending.UNENCODABLE or extra is Extra.ABORT_AT_END:
        return
    elif client.ending is Ending.UNSENT:
        if seen.end != "completed" or (seen.status or 0) < 400:
            yield WRONG_ANSWER, seen.end_us, _texts(seen, reference)
    elif (seen.end, seen.status, says(seen.body)) != (reference.end, reference.status, says(reference.body)):
        yield WRONG_ANSWER, seen.end_us, _texts(seen, reference)
    elif seen.body == reference.body and (late_us := latest_us(seen, reference)) > PROMPT_US:
        yield LATE_ANSWER, seen.end_us, {"ms": late_us // 1000}


def _texts(seen: Seen, reference: Seen) -> dict[str, Any]:
    pairs = enumerate(zip(seen.body, reference.body, strict=False))
    shorter = min(len(seen.body), len(reference.body))
    same = next((place for place, (got, due) in pairs if got != due), shorter)
    return {"got": _shown(seen, same), "due": _shown(reference, same)}


def _shown(seen: Seen, same: int) -> Sentence:
    """The status and the body from shortly before its first difference on."""
    if seen.status is None:
        return Sentence("no status")
    begin = max(0, same - 40)
    text = seen.body[begin : same + 40].decode(errors="replace")
    dots = ("..." if begin else "", "..." if same + 40 < len(seen.body) else "")
    text = f"{dots[0]}{text!r}{dots[1]}"
    return Sentence("status {status}, {text}, {end}", status=seen.status, text=text, end=_ENDS[seen.end])


def _aborts(
    index: int, client: Client, extra: Extra, seen: Seen, whole: Observation, observation: Observation
) -> Iterator[Fault]:
    if extra in (Extra.ABORT_FIRST, Extra.ABORT_AFTER, Extra.ABORT_AT_END, Extra.ABORT_UNSENT):
        return  # the play itself asks for one there, or it may be sent again
    times = [at_us for of, at_us in observation.aborts if of == index]
    least, most = _due(client, seen, whole.arrivals[index])
    if len(times) < least:
        yield ABORT_MISSING, seen.end_us, {}
    elif len(times) > most:
        yield ABORT_EXTRA, times[most], {"count": len(times), "most": most}


def _due(client: Client, seen: Seen, arrivals: list[int]) -> tuple[int, int]:
    """How many aborts there must be at least and may be at most.

    One too many does no harm where the request ends at about the same time, or fails.
    """
    match client.ending:
        case Ending.STAYS:
            return 0, 0
        case Ending.REFUSED | Ending.BREAKS | Ending.UNSENT | Ending.UNENCODABLE:
            return 0, 1
    still_us = arrivals[-1] - seen.end_us if arrivals else 0
    return (1, 1) if still_us > NOTICE_US else (0, 1)
