"""Recordings: one run of the server as JSON Lines, which can be played again anywhere.

The first line is the header. Then come, in the order in which they happened,
what clients did (``request``, ``pace``, ``disconnect``), which request got which
uid (``submit``), when messages reached the scheduler (``arrive``), and what the
engine was asked and gave (``step``, ``tokens``). Times are microseconds since
the start of the recording.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

VERSION = 1
MAX_LINE_BYTES = 64 << 20


class RecordingError(ValueError):
    """A file that is not a recording which this version can play."""


class Header(msgspec.Struct, frozen=True, tag_field="kind", tag="header"):
    """What the recorded server was. ``model`` is what ``--model`` said; null is the shipped one."""

    version: int
    model: str | None
    served_model: str
    page_size: int
    num_pages: int
    num_slots: int
    max_seq_len: int
    vocab_size: int
    prefill_budget: int
    cache: Literal["radix", "naive"]
    overlap: bool
    num_tokenizer: int
    backlog_limit: int
    eos_token_ids: list[int]
    gaps: list[str] = []
    title: str = ""


class RequestLine(msgspec.Struct, frozen=True, tag_field="kind", tag="request"):
    """A client's request ``rid``, numbered by the recording."""

    t: int
    rid: int
    method: str
    path: str
    body: str


class SubmitLine(msgspec.Struct, frozen=True, tag_field="kind", tag="submit"):
    """Request ``rid`` became ``uid``; its answer's id has ``stamp``, its time is ``created``."""

    t: int
    rid: int
    uid: int
    stamp: str
    created: int


class PaceLine(msgspec.Struct, frozen=True, tag_field="kind", tag="pace"):
    """The client of ``rid`` takes ``chunk_us`` to read a chunk, and ``buffer`` bytes fit on the way to it."""

    t: int
    rid: int
    chunk_us: int
    buffer: int


class DisconnectLine(msgspec.Struct, frozen=True, tag_field="kind", tag="disconnect"):
    """The client of ``rid`` left; ``chunks`` body chunks had been sent to it."""

    t: int
    rid: int
    chunks: int


class ArriveLine(msgspec.Struct, frozen=True, tag_field="kind", tag="arrive"):
    """The scheduler took in these requests and aborts, by uid, in one go."""

    t: int
    users: list[int]
    aborts: list[int]


class StepLine(msgspec.Struct, frozen=True, tag_field="kind", tag="step"):
    """The ``n``-th step was handed to the engine: the uids in its rows, and the tokens in each row then."""

    t: int
    n: int
    phase: Literal["prefill", "decode"]
    uids: list[int]
    seq_lens: list[int]


class TokensLine(msgspec.Struct, frozen=True, tag_field="kind", tag="tokens"):
    """The tokens of the ``n``-th step were read: one a row, -1 where none was sampled."""

    t: int
    n: int
    tokens: list[int]


class HopLine(msgspec.Struct, frozen=True, tag_field="kind", tag="hop"):
    """``receiver`` took in ``message`` (its type and fields). Only `--record-messages` writes these: a replay
    makes its own hops, which can be compared with them.
    """

    t: int
    receiver: str
    message: dict[str, Any]


Event = RequestLine | SubmitLine | PaceLine | DisconnectLine | ArriveLine | StepLine | TokensLine | HopLine
Line = Header | Event

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Line)


def encode_line(line: Line) -> bytes:
    return _encoder.encode(line) + b"\n"


class Recording(msgspec.Struct, frozen=True):
    """A whole recording, its lines by time."""

    header: Header
    lines: list[Event]

    def write(self, path: Path) -> None:
        path.write_bytes(b"".join(encode_line(line) for line in (self.header, *self.lines)))


def read_recording(path: Path) -> Recording:
    """The recording in a file.

    A last line without an end is left out: the recorder may have been killed.

    Raises:
        RecordingError: it says which line cannot be read, and why.
    """
    try:
        with path.open("rb") as file:
            lines = list(_read_lines(path, file))
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error
    header, rest = (lines[0], lines[1:]) if lines else (None, [])
    if not isinstance(header, Header):
        raise RecordingError(f"{path} is not a recording: its first line is not a recording's header")
    if header.version != VERSION:
        raise RecordingError(
            f"{path} has recording version {header.version}; this program plays version {VERSION}"
        )
    events = [line for line in rest if not isinstance(line, Header)]
    if len(events) != len(rest):
        raise RecordingError(f"{path} has a second header: it is not one recording")
    # Several processes write one file: a line may stand after a later one of another process.
    return Recording(header, sorted(events, key=lambda line: line.t))


def _read_lines(path: Path, file: Iterable[bytes]) -> Iterator[Line]:
    for number, text in enumerate(file, 1):
        if not text.endswith(b"\n"):
            return
        if len(text) > MAX_LINE_BYTES:
            raise RecordingError(f"{path}, line {number}: longer than {MAX_LINE_BYTES >> 20} MB")
        try:
            yield _decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordingError(f"{path}, line {number}: {error}") from error
