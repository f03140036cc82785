"""Turns schedules into jobs: works out when everything happens.

When a client leaves depends on when its replies come, so the same requests are
first played with the server's own class and clients that stay.
"""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec

from ....message import ErrorReply, SamplingParams, TokenizeMsg, Usage, UserReply
from ....recording import (
    VERSION,
    DisconnectLine,
    Header,
    PaceLine,
    Recording,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
)
from ....tokenizer.tokenize import TokenizeManager
from ....tokenizer.tokenizer import Tokenizer
from .observation import DeskClient, DeskJob, Job, Observation, StageJob
from .schedule import STEP_MS, Client, Ending, Extra, Schedule, undisturbed

STEP_US = STEP_MS * 1000
SLOW_CHUNK_US = 350_000
MAX_SEQ_LEN = 256
TEXT = "A server keeps apart what belongs to whom, and lets go of it when the answer has been given."
TOO_LONG = "one word more " * MAX_SEQ_LEN

Event = RequestLine | SubmitLine | PaceLine | DisconnectLine | StepLine | TokensLine
Rehearse = Callable[[Job], Observation]


class Scorer:
    """Makes jobs. ``rehearse`` plays one with the server's own class."""

    def __init__(self, tokenizer: Tokenizer, eos_token_ids: frozenset[int], rehearse: Rehearse) -> None:
        self._tokenizer = tokenizer
        self._eos_token_ids = sorted(eos_token_ids)
        self._rehearse = rehearse
        self._undisturbed: dict[tuple[Schedule, bool], Observation] = {}
        ids = tokenizer.encode(TEXT, add_special_tokens=False)
        self._tokens = [each for each in ids if each not in eos_token_ids]

    def job(self, schedule: Schedule) -> Job:
        whole = self.undisturbed(schedule)
        return self._job(schedule, whole.arrivals)

    def undisturbed(self, schedule: Schedule) -> Observation:
        """What the same clients get when all of them stay and read at once."""
        key = (undisturbed(schedule), schedule.needs_desk)
        if key not in self._undisturbed:
            self._undisturbed[key] = self._rehearse(self._job(key[0], [], schedule.needs_desk))
        return self._undisturbed[key]

    def _job(self, schedule: Schedule, arrivals: list[list[int]], on_desk: bool = False) -> Job:
        if on_desk or schedule.needs_desk:
            return self._desk(schedule, arrivals)
        return StageJob(self.recording(schedule, arrivals), schedule.spec)

    # -- the stage

    def recording(self, schedule: Schedule, arrivals: list[list[int]]) -> Recording:
        header = Header(
            version=VERSION,
            model=None,
            served_model="minisgl-tutor",
            page_size=16,
            num_pages=256,
            num_slots=8,
            max_seq_len=MAX_SEQ_LEN,
            vocab_size=self._tokenizer.vocab_size,
            prefill_budget=2048,
            cache="radix",
            overlap=True,
            num_tokenizer=1,
            backlog_limit=4096,
            eos_token_ids=self._eos_token_ids,
        )
        lines: list[Event] = []
        for rid, client in enumerate(schedule.clients):
            lines += self._asks(rid, client)
            lines += _reads(rid, client, arrivals)
        lines += self._engine_steps(schedule)
        return Recording(header, sorted(lines, key=lambda line: line.t))

    def _asks(self, rid: int, client: Client) -> list[Event]:
        at_us = _start_us(client)
        return [
            RequestLine(at_us, rid, "POST", "/v1/chat/completions", _body(rid, client)),
            SubmitLine(at_us, rid, rid, f"exercise{rid}", 0),
        ]

    def _engine_steps(self, schedule: Schedule) -> list[Event]:
        """Each request's tokens, in steps of its own: how they are batched is decided at the play."""
        lines: list[Event] = []
        n = 0
        for rid, client in enumerate(schedule.clients):
            if client.ending is Ending.REFUSED:
                continue
            length = self._prompt_len(rid, client)
            for place in range(client.replies):
                at_us = _start_us(client) + 1_000 + place * STEP_US
                phase = "decode" if place else "prefill"
                lines.append(StepLine(at_us, n, phase, [rid], [length + place]))  # type: ignore[arg-type]
                lines.append(TokensLine(at_us + STEP_US, n, [self._tokens[place % len(self._tokens)]]))
                n += 1
        return lines

    def _prompt_len(self, rid: int, client: Client) -> int:
        text = json.loads(_body(rid, client))["messages"]
        msg = TokenizeMsg(uid=rid, text=text, sampling_params=SamplingParams())
        ids = TokenizeManager(self._tokenizer).tokenize([msg])[0]
        assert not isinstance(ids, ErrorReply)
        return len(ids)

    # -- the desk

    def _desk(self, schedule: Schedule, arrivals: list[list[int]]) -> DeskJob:
        clients = []
        for index, client in enumerate(schedule.clients):
            extra = schedule.extra if index == 0 else Extra.NOTHING
            plan = DeskClient(_start_us(client), _body(index, client), self._replies(client, extra))
            if client.ending is Ending.UNSENT:
                plan = msgspec.structs.replace(plan, unsent=True)
            elif client.ending is Ending.UNENCODABLE:
                plan = msgspec.structs.replace(plan, bad_chunk=client.after)
            plan = _with_reading(plan, client, _reads(index, client, arrivals))
            clients.append(_with_extra(plan, extra, arrivals[index] if arrivals else []))
        return DeskJob(clients, STEP_US, schedule.spec)

    def _replies(self, client: Client, extra: Extra) -> list[list[UserReply | ErrorReply]]:
        steps: list[list[UserReply | ErrorReply]] = []
        if client.ending in (Ending.BREAKS, Ending.REFUSED):
            steps = [[_reply(place, None)] for place in range(client.after)]
            error = ErrorReply(uid=-1, message="the request could not be computed any further")
            return [*steps, [error]]
        for place in range(client.replies):
            last = place == client.replies - 1
            pause = client.pauses[place] if place < len(client.pauses) else 0
            if pause < 0 and steps:
                steps[-1].append(_reply(place, client.replies if last else None))
            else:
                steps += [[] for _ in range(pause)]
                steps.append([_reply(place, client.replies if last else None)])
        if extra is Extra.ANOTHER_REPLY:
            steps[-1].append(_reply(client.replies, None))
        if extra is Extra.LATE_REPLIES and not client.leaves:
            steps += [[_reply(99, None)], [_reply(99, None)], [_reply(99, 99)]]
        return steps


def _reply(place: int, completion_tokens: int | None) -> UserReply:
    text = TEXT.split()[place % 10] + " "
    if completion_tokens is None:
        return UserReply(uid=-1, incremental_output=text, finished=False)
    usage = Usage(5, completion_tokens, 0)
    return UserReply(uid=-1, incremental_output=text, finished=True, finish_reason="length", usage=usage)


def _start_us(client: Client) -> int:
    return client.start * STEP_US + 1_000


def _body(rid: int, client: Client) -> str:
    content = TOO_LONG if client.ending is Ending.REFUSED else f"Question {rid}?"
    message = {"role": "user", "content": content}
    fields = {"model": "minisgl-tutor", "messages": [message], "max_tokens": client.replies}
    return json.dumps({**fields, "stream": client.stream})


def _reads(rid: int, client: Client, arrivals: list[list[int]]) -> list[PaceLine | DisconnectLine]:
    """How the client reads and leaves. Without ``arrivals`` it stays, and reads at once."""
    if not arrivals or not client.leaves:
        return []
    start, times = _start_us(client), arrivals[rid]
    if client.ending is Ending.LEAVES_WRITING:
        return [DisconnectLine(times[-1] + STEP_US, rid, client.after)]
    if client.ending is Ending.LEAVES_AT_END:
        return [DisconnectLine(times[-1], rid, 1 << 30)]
    lines: list[PaceLine | DisconnectLine] = []
    if client.ending is Ending.LEAVES_STUCK:
        lines.append(PaceLine(start, rid, SLOW_CHUNK_US, 1))
        at_us = times[client.after] + STEP_US // 2
    else:
        at_us = times[client.after] - STEP_US // 2
    return [*lines, DisconnectLine(at_us, rid, 1 << 30)]


def _with_reading(plan: DeskClient, client: Client, lines: list[PaceLine | DisconnectLine]) -> DeskClient:
    for line in lines:
        if isinstance(line, PaceLine):
            plan = msgspec.structs.replace(plan, chunk_us=line.chunk_us, buffer=line.buffer)
        elif client.ending is Ending.LEAVES_WRITING:
            plan = msgspec.structs.replace(plan, leaves_before_chunk=line.chunks)
        else:
            plan = msgspec.structs.replace(plan, leaves_at_us=line.t)
    return plan


def _with_extra(plan: DeskClient, extra: Extra, arrivals: list[int]) -> DeskClient:
    replace = msgspec.structs.replace
    if extra is Extra.LATE_REPLIES:
        return replace(plan, late=3)
    if extra is Extra.ABORT_UNSENT:
        return replace(plan, abort_unsent=True)
    if extra is Extra.ANOTHER_MESSAGE:
        return replace(plan, message_first=True)
    if extra is Extra.SEND_CANCELLED:
        return replace(plan, cancelled=True)
    if not arrivals:
        return plan
    if extra in (Extra.ABORT_FIRST, Extra.ABORT_AFTER):
        return replace(plan, aborts_at_us=plan.leaves_at_us, abort_first=extra is Extra.ABORT_FIRST)
    if extra is Extra.ABORT_AT_END:
        # The reader is slow: the finished reply has been taken, and its chunk waits to be sent.
        return replace(plan, chunk_us=SLOW_CHUNK_US, buffer=1, aborts_at_us=arrivals[-1] + STEP_US // 2)
    return plan
