"""Reading a recording: what cannot be played is refused with a sentence that says where and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, get_args

import msgspec

from ..message.codec import Single
from .lines import (
    VERSION,
    ArriveLine,
    Event,
    Header,
    HopLine,
    Line,
    Recording,
    RecordingError,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
)

MAX_LINE_BYTES = 64 << 20
MESSAGES = frozenset(message.__name__ for message in get_args(Single))

_decoder = msgspec.json.Decoder(Line)


def read_recording(path: Path) -> Recording:
    """The recording in a file.

    A last line without an end is left out: the recorder may have been killed.
    However long a line is, no more than ``MAX_LINE_BYTES`` of it are read.

    Raises:
        RecordingError: it says which line cannot be read, and why.
    """
    try:
        with path.open("rb") as file:
            return _read(path, file)
    except OSError as error:
        raise RecordingError(f"{path} cannot be read: {error.strerror or error}") from error


def _read(path: Path, file: BinaryIO) -> Recording:
    lines = _read_lines(path, file)
    header = next(lines, None)
    if not isinstance(header, Header):
        raise RecordingError(f"{path} is not a recording: its first line is not a recording's header")
    checks, events = Checks(header), []
    for number, line in enumerate(lines, 2):
        if isinstance(line, Header):
            raise RecordingError(f"{path}, line {number}: a second header: it is not one recording")
        problem = checks.problem(line)
        if problem is not None:
            raise RecordingError(f"{path}, line {number}: {problem}")
        events.append(line)
    # Several processes write one file: a line may stand after a later one of another process.
    return Recording(header, sorted(events, key=lambda line: line.t))


@dataclass
class Checks:
    """Told of each line in the order of the file; says what cannot be true together.

    What a killed server leaves may end anywhere, and a file that follows upon a full
    one may begin anywhere, so nothing has to be complete. But nothing happens twice,
    an engine gives a token of its vocabulary for each row, and what one process
    writes down one after the other happened in that order.
    """

    header: Header
    requests: set[int] = field(default_factory=set)
    submitted: set[int] = field(default_factory=set)
    submitted_by: set[int] = field(default_factory=set)
    rows: dict[int, int] = field(default_factory=dict)
    read: set[int] = field(default_factory=set)
    scheduler_us: int = 0

    def problem(self, line: Event) -> str | None:
        """What cannot be true of ``line``, as a sentence; null if all can."""
        match line:
            case RequestLine():
                return self._request(line)
            case SubmitLine():
                return self._submit(line)
            case StepLine():
                return self._in_order(line.t) or self._step(line)
            case TokensLine():
                return self._in_order(line.t) or self._tokens(line)
            case ArriveLine():
                return self._in_order(line.t) or self._arrive(line)
            case HopLine():
                return _hop(line)
        return None

    def _in_order(self, t: int) -> str | None:
        if t < self.scheduler_us:
            return f"the scheduler's line of {t} us stands behind one of {self.scheduler_us} us"
        self.scheduler_us = t
        return None

    def _request(self, line: RequestLine) -> str | None:
        if line.rid in self.requests:
            return f"request {line.rid} is there 2 times"
        if line.rid in self.submitted_by:
            return f"request {line.rid} stands behind its submit"
        self.requests.add(line.rid)
        return None

    def _submit(self, line: SubmitLine) -> str | None:
        if line.uid in self.submitted:
            return f"submit of uid {line.uid} is there 2 times"
        self.submitted.add(line.uid)
        self.submitted_by.add(line.rid)
        return None

    def _arrive(self, line: ArriveLine) -> str | None:
        lens = line.prompt_lens
        if isinstance(lens, list) and len(lens) != len(line.users):
            return f"{len(line.users)} requests arrive, with {len(lens)} lengths of prompts"
        return None

    def _step(self, line: StepLine) -> str | None:
        if line.n in self.rows:
            return f"step {line.n} is there 2 times"
        if line.n in self.read:
            return f"step {line.n} stands behind its tokens"
        if len(line.seq_lens) != len(line.uids):
            return f"step {line.n} has {len(line.uids)} rows, but {len(line.seq_lens)} lengths"
        self.rows[line.n] = len(line.uids)
        return None

    def _tokens(self, line: TokensLine) -> str | None:
        if line.n in self.read:
            return f"tokens of step {line.n} is there 2 times"
        self.read.add(line.n)
        rows = self.rows.get(line.n)
        if rows is not None and len(line.tokens) != rows:
            return f"step {line.n} has {rows} rows, but {len(line.tokens)} tokens"
        if line.tokens and not -1 <= min(line.tokens) <= max(line.tokens) < self.header.vocab_size:
            return f"step {line.n} has a token outside of the vocabulary of {self.header.vocab_size}"
        return None


def _hop(line: HopLine) -> str | None:
    name = line.message.get("type")
    if name not in MESSAGES:
        return f"no message is named {str(name)[:60]!r}"
    return None if isinstance(line.message.get("uid"), int) else f"the {name} has no uid"


class _Version(msgspec.Struct):
    """As much of a header as tells whether the rest can be understood."""

    kind: str
    version: int


def _read_lines(path: Path, file: BinaryIO) -> Iterator[Line]:
    number = 0
    while text := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(text) > MAX_LINE_BYTES:
            raise RecordingError(f"{path}, line {number}: longer than {MAX_LINE_BYTES >> 20} MB")
        if not text.endswith(b"\n"):
            return
        if number == 1:
            _check_version(path, text)
        try:
            yield _decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise RecordingError(f"{path}, line {number}: {error}") from error


def _check_version(path: Path, text: bytes) -> None:
    """A later version's header may have anything else in it, so its version is looked at first."""
    try:
        head = msgspec.json.decode(text, type=_Version)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return  # no header, which the reading of the line itself will say
    if head.kind == "header" and head.version != VERSION:
        raise RecordingError(
            f"{path}, line 1: recording version {head.version}; this program plays version {VERSION}"
        )
