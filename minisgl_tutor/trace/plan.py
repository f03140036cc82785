"""What a recording says of a run: who sends what and when, how clients read, what the engine gives."""

from __future__ import annotations

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Sequence

import msgspec

from ..engine.base import EngineInfo
from ..engine.recorded import RecordedAnswer, RecordedEngine, RecordedStep
from ..message import AbortBackendMsg, UserMsg
from ..recording import (
    ArriveLine,
    CutLine,
    DisconnectLine,
    ForkLine,
    Line,
    PaceLine,
    Recording,
    RefuseLine,
    RequestLine,
    StallLine,
    StepLine,
    StopLine,
    SubmitLine,
    TokensLine,
)
from ..recording.redact import STAND_IN, filler
from ..server.backlog import SLOW_READER
from ..server.openai.request_model import CompletionBody
from .asgi import Reader
from .connection import HIGH_WATER
from .redacted import prompt_lens, with_stand_ins

ON_THE_WAY_US = 100
"""What leads to a message for the scheduler happens at least so long before it gets there."""

BUSY = (429, 503)
"""What a request is told that the server takes at another time."""

UNKNOWN = -1
"""In the place of a uid whose submit is not in the recording: the recorded server was killed."""


class Plan:
    """The lines of a recording, by what they are for. Requests (``rid``) and uids are the recording's own.

    A request has as many uids as it asked for choices, in their order.

    Recorded aborts tell when they reached the scheduler, and recorded ends of slow readers
    happen, only if the play has the ``same_gaps`` as the recorded run: under others it may
    send them at another time, or never end those. ``cuts`` and ``stops`` are the ends that
    the server made by itself.
    """

    def __init__(self, recording: Recording, same_gaps: bool) -> None:
        lines = recording.lines
        self._header = recording.header
        self.forks = [line for line in lines if isinstance(line, ForkLine)]
        busy = _turned_away(lines)
        bodies = [line for line in lines if isinstance(line, RequestLine)]
        self._bodies = {line.rid: line for line in bodies if line.rid not in busy}
        submits = [line for line in lines if isinstance(line, SubmitLine)]
        self.uids: dict[int, list[int]] = {}
        for submit in sorted(submits, key=lambda submit: submit.uid):
            self.uids.setdefault(submit.rid, []).append(submit.uid)
        submitted = {line.uid for line in submits}
        self._submitted = {line.rid: line.t for line in reversed(submits)}
        self.stamps = {line.uid: (line.stamp, line.created) for line in submits}
        self._refused = {line.rid: line.t for line in lines if isinstance(line, RefuseLine)}
        cuts = [line for line in lines if isinstance(line, CutLine)]
        self.cuts = [line for line in cuts if same_gaps or line.code != SLOW_READER]
        self.stops = [line for line in lines if isinstance(line, StopLine)]
        self._ended = {line.uid for line in cuts}.union(*(line.uids for line in self.stops))
        self._paces = {line.rid: line for line in lines if isinstance(line, PaceLine)}
        self._leaves = {line.rid: line for line in lines if isinstance(line, DisconnectLine)}
        self._stalls: dict[int, list[StallLine]] = {}
        for stall in lines:
            if isinstance(stall, StallLine):
                self._stalls.setdefault(stall.rid, []).append(stall)
        # When each reached the scheduler, and its rank among those of that time.
        self.arrivals: dict[tuple[type, int], tuple[int, int]] = {}
        for line in lines:
            if isinstance(line, ArriveLine):
                taken: list[tuple[type, int]] = [(UserMsg, uid) for uid in line.users]
                taken += [(AbortBackendMsg, uid) for uid in line.aborts if same_gaps]
                for rank, (kind, uid) in enumerate(taken):
                    if uid in submitted:
                        self.arrivals[kind, uid] = (line.t, rank)
        tokens = {line.n: line for line in lines if isinstance(line, TokensLine)}
        steps = [line for line in lines if isinstance(line, StepLine) and line.n in tokens]
        self._steps = [
            RecordedStep(
                line.t,
                tokens[line.n].t,
                tuple(uid if uid in submitted else UNKNOWN for uid in line.uids),
                tuple(line.seq_lens),
            )
            for line in steps
        ]
        self.last_step_us = max((step.read_us for step in self._steps), default=0)
        self._answers = _answers(steps, tokens)
        if recording.header.redacted is True:
            self._stand_in(prompt_lens(recording))
        self.requests = list(self._bodies.values())
        self._times = sorted(line.t for line in lines if not isinstance(line, ForkLine))
        self.last_us = max(self._times, default=0)

    def engine(self, recorded_uid: Callable[[int], int], now_us: Callable[[], int]) -> RecordedEngine:
        header = self._header
        info = EngineInfo(
            header.page_size, header.num_pages, header.num_slots, header.max_seq_len, header.vocab_size
        )
        other = filler(header.eos_token_ids) if header.redacted is True else 0
        return RecordedEngine(info, self._answers, self._steps, recorded_uid, now_us, other)

    def _stand_in(self, lens: dict[int, int]) -> None:
        for rid, request in self._bodies.items():
            uids = self.uids.get(rid, [])
            if not uids and rid in self._refused:
                # What it was refused for may be left out; a text that is no JSON is refused, too.
                self._bodies[rid] = msgspec.structs.replace(request, body=STAND_IN * len(request.body))
                continue
            # What the server ended is ended at that time, whether it had got to the scheduler or not.
            refused = rid in self._refused and self._ended.isdisjoint(uids)
            answers = [self._answers[uid].tokens for uid in uids if uid in self._answers]
            ended_at = [] if rid in self._leaves else [len(tokens) for tokens in answers]
            self._bodies[rid] = with_stand_ins(request, uids, lens, ended_at, refused)

    def sent_us(self, request: RequestLine) -> int:
        """When to send it: when it was submitted or refused, since a play takes no time to read a body."""
        looked_at_us = self._refused.get(request.rid, request.t)
        return self._not_behind(UserMsg, request.rid, self._submitted.get(request.rid, looked_at_us))

    def buffer(self, rid: int) -> int:
        pace = self._paces.get(rid)
        return HIGH_WATER if pace is None else pace.buffer

    def reader(self, rid: int) -> Reader:
        pace, leave = self._paces.get(rid), self._leaves.get(rid)
        return Reader(
            us_per_chunk=0 if pace is None else pace.chunk_us,
            leaves_at_us=None if leave is None else self._left_us(leave),
            leaves_before_chunk=None if leave is None else leave.chunks,
            blocks=tuple((stall.chunks, stall.t) for stall in self._stalls.get(rid, [])),
        )

    def _left_us(self, leave: DisconnectLine) -> int:
        """When a client left; one that left while its request was on the way in did so just behind it."""
        at_us = self._not_behind(AbortBackendMsg, leave.rid, leave.t)
        return max(at_us, self._submitted.get(leave.rid, -1) + 1)

    def _not_behind(self, kind: type, rid: int, at_us: int) -> int:
        """``at_us``, or shortly before what it led to reached the scheduler: a busy process notes a thing
        down late, and by then another may have dealt with it.
        """
        arrivals = [self.arrivals.get((kind, uid)) for uid in self.uids.get(rid, [])]
        came_us = [arrival[0] - ON_THE_WAY_US for arrival in arrivals if arrival is not None]
        return max(0, min([at_us, *came_us])) if came_us else at_us

    def stalled(self, uid: int, at_us: int) -> bool:
        """Whether a write to the client of ``uid`` waited then."""
        rids = [rid for rid, uids in self.uids.items() if uid in uids]
        return any(
            stall.t - stall.us <= at_us <= stall.t for rid in rids for stall in self._stalls.get(rid, [])
        )

    def streams(self, rid: int) -> bool:
        return CompletionBody.model_validate(json.loads(self._bodies[rid].body)).stream

    def next_us(self, now_us: int) -> int | None:
        """When something happened next; null if nothing did any more."""
        place = bisect_right(self._times, now_us)
        return self._times[place] if place < len(self._times) else None


def _answers(steps: list[StepLine], tokens: dict[int, TokensLine]) -> dict[int, RecordedAnswer]:
    prompt_lens: dict[int, int] = {}
    sampled: dict[int, list[int]] = {}
    for step in steps:
        for uid, seq_len, token in zip(step.uids, step.seq_lens, tokens[step.n].tokens, strict=True):
            if token >= 0:
                prompt_lens.setdefault(uid, seq_len)
                sampled.setdefault(uid, []).append(token)
    return {uid: RecordedAnswer(prompt_lens[uid], tuple(sampled[uid])) for uid in sampled}


def _turned_away(lines: Sequence[Line]) -> set[int]:
    """Requests for which the server was too busy: nothing in them says so, and a play is never busy."""
    stops_us = min((line.t for line in lines if isinstance(line, StopLine)), default=math.inf)
    refusals = [line for line in lines if isinstance(line, RefuseLine) and line.status in BUSY]
    uids = {line.rid for line in lines if isinstance(line, SubmitLine)}
    return {line.rid for line in refusals if line.t < stops_us} - uids
