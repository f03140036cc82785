"""Recordings: one run of the server as JSON Lines, which can be played again anywhere.

The first line is the header. Then come, in the order in which they happened,
what clients did (``request``, ``pace``, ``stall``, ``disconnect``), which request got which
uid (``submit``), which got nothing but an error (``refuse``), what the server itself ended
(``cut``, ``stop``), when messages reached the scheduler (``arrive``), and what the engine was asked and gave
(``step``, ``tokens``). Times are microseconds since the start of the recording.
``docs/recording-format.md`` describes all of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

VERSION = 1

# What was written by hand or is broken must not cost memory or time without bound.
Count = Annotated[int, Meta(ge=1, le=1 << 26)]
Number = Annotated[int, Meta(ge=0, le=1 << 53)]
Microseconds = Number
Limit = Annotated[int, Meta(ge=1, le=1 << 53)]

Action = Literal["disconnect", "slow", "abort", "drop", "delay", "reorder"]
"""What a fork does: the first three to a request, the others to a message."""


class RecordingError(ValueError):
    """A file that is not a recording which this version can play."""


class Header(msgspec.Struct, frozen=True, tag_field="kind", tag="header"):
    """What the recorded server was. ``model`` is what ``--model`` said; null is the shipped one.

    ``redacted`` recordings have neither texts nor tokens, but their lengths. A recording without
    the limits is of a server with those that are the rule, and one without ``utc_offset``, the
    seconds by which its local time was ahead, of one in UTC.
    """

    version: int
    model: str | None
    served_model: str
    page_size: Count
    num_pages: Count
    num_slots: Annotated[int, Meta(ge=1, le=1 << 16)]
    max_seq_len: Count
    vocab_size: Count
    prefill_budget: Annotated[int, Meta(ge=1)]
    cache: Literal["radix", "naive"]
    overlap: bool
    num_tokenizer: Annotated[int, Meta(ge=0, le=64)]
    backlog_limit: Annotated[int, Meta(ge=1)]
    eos_token_ids: list[int]
    gaps: list[str] = []
    title: str = ""
    admission: Literal["optimistic", "reserve"] = "reserve"
    redacted: bool | UnsetType = UNSET
    backlog_bytes: Limit | UnsetType = UNSET
    max_prompt_chars: Limit | UnsetType = UNSET
    max_body_bytes: Limit | UnsetType = UNSET
    utc_offset: Annotated[int, Meta(ge=-86_399, le=86_399)] | UnsetType = UNSET


class RequestLine(msgspec.Struct, frozen=True, tag_field="kind", tag="request"):
    """A client's request ``rid``, numbered by the recording. ``path`` is as it was on the wire."""

    t: Microseconds
    rid: Number
    method: str
    path: str
    body: str
    content_type: str = "application/json"


class SubmitLine(msgspec.Struct, frozen=True, tag_field="kind", tag="submit"):
    """Request ``rid`` became ``uid``; its answer's id has ``stamp``, its time is ``created``.

    A request for several choices became several, with a line each; the response has
    the first one's stamp.
    """

    t: Microseconds
    rid: Number
    uid: Number
    stamp: str
    created: Number


class RefuseLine(msgspec.Struct, frozen=True, tag_field="kind", tag="refuse"):
    """Request ``rid`` was answered with ``status`` and no text: it became no uid's, or ended by an error."""

    t: Microseconds
    rid: Number
    status: Annotated[int, Meta(ge=100, le=599)]


class CutLine(msgspec.Struct, frozen=True, tag_field="kind", tag="cut"):
    """The server itself ended ``uid`` after so many ``replies``: a time limit, or a client too far behind.

    The client is not told of the ``unread`` last of them, but of an error with ``status``, ``code``
    and ``message``.
    """

    t: Microseconds
    uid: Number
    replies: Number
    unread: Number
    status: Annotated[int, Meta(ge=400, le=599)]
    code: str
    message: str


class StopLine(msgspec.Struct, frozen=True, tag_field="kind", tag="stop"):
    """The server stopped, or a part of it was gone: it took no more requests, and ended those of ``uids``.

    ``replies`` had come for each, and its client is told of an error with ``message``.
    """

    t: Microseconds
    uids: list[Number]
    replies: list[Number]
    message: str


class PaceLine(msgspec.Struct, frozen=True, tag_field="kind", tag="pace"):
    """The client of ``rid`` takes ``chunk_us`` to read a chunk, and ``buffer`` bytes fit on the way to it."""

    t: Microseconds
    rid: Number
    chunk_us: Microseconds
    buffer: Number


class StallLine(msgspec.Struct, frozen=True, tag_field="kind", tag="stall"):
    """The client of ``rid`` had not read for so long that a write to it waited for ``us``, until ``t``.

    ``chunks`` had been sent to it before, as :func:`chunks_in` counts them.
    """

    t: Microseconds
    rid: Number
    chunks: Number
    us: Microseconds


class DisconnectLine(msgspec.Struct, frozen=True, tag_field="kind", tag="disconnect"):
    """The client of ``rid`` left; ``chunks`` had been sent to it, as :func:`chunks_in` counts them."""

    t: Microseconds
    rid: Number
    chunks: Number


class ArriveLine(msgspec.Struct, frozen=True, tag_field="kind", tag="arrive"):
    """The scheduler took in these requests and aborts, by uid, in one go.

    ``prompt_lens`` are the tokens in the prompts of ``users``, in a redacted recording.
    """

    t: Microseconds
    users: list[int]
    aborts: list[int]
    prompt_lens: list[Number] | UnsetType = UNSET


class StepLine(msgspec.Struct, frozen=True, tag_field="kind", tag="step"):
    """The ``n``-th step was handed to the engine: the uids in its rows, and the tokens in each row then."""

    t: Microseconds
    n: Number
    phase: Literal["prefill", "decode"]
    uids: list[int]
    seq_lens: list[Number]


class TokensLine(msgspec.Struct, frozen=True, tag_field="kind", tag="tokens"):
    """The tokens of the ``n``-th step were read: one a row, -1 where none was sampled."""

    t: Microseconds
    n: Number
    tokens: list[int]


class HopLine(msgspec.Struct, frozen=True, tag_field="kind", tag="hop"):
    """``receiver`` took in ``message`` (its type and fields). Only `--record-messages` writes these: a replay
    makes its own hops, which can be compared with them.
    """

    t: Microseconds
    receiver: str
    message: dict[str, Any]


class ForkLine(msgspec.Struct, frozen=True, tag_field="kind", tag="fork"):
    """From one step of the play on, the run goes on otherwise than it was recorded.

    The step is the ``nth`` that goes from ``source`` to ``target`` as ``title`` for ``who``: a request's
    number if ``source`` or ``target`` is its client, else the first uid in it. ``action`` befalls the client,
    or the server's work, for request ``rid``, or else the message that the step is. ``us`` is how long a
    message is delayed, or how long the client takes for each piece from then on.
    """

    t: Microseconds
    source: str
    target: str
    title: str
    who: int
    nth: Annotated[int, Meta(ge=1, le=1 << 53)]
    action: Action
    rid: Number = 0
    us: Microseconds = 0


Event = (
    RequestLine
    | SubmitLine
    | RefuseLine
    | CutLine
    | StopLine
    | PaceLine
    | StallLine
    | DisconnectLine
    | ArriveLine
    | StepLine
    | TokensLine
    | HopLine
    | ForkLine
)
Line = Header | Event

_encoder = msgspec.json.Encoder()


def chunks_in(body: bytes) -> int:
    """The events in a piece of a stream's body, as several may be sent at once; 1 for any other piece."""
    return max(1, body.count(b"\n\n"))


def encode_line(line: Line) -> bytes:
    return _encoder.encode(line) + b"\n"


class Recording(msgspec.Struct, frozen=True):
    """A whole recording, its lines by time."""

    header: Header
    lines: list[Event]

    def write(self, path: Path) -> None:
        path.write_bytes(b"".join(encode_line(line) for line in (self.header, *self.lines)))
