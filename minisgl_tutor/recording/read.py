"""Reading a recording: what cannot be played is refused with a sentence that says where and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, get_args

import msgspec

from ..language import Sentence, reason_of, sentence_of
from ..message import Single
from .lines import (
    VERSION,
    ArriveLine,
    CutLine,
    Event,
    Header,
    HopLine,
    Line,
    Recording,
    RecordingError,
    RequestLine,
    StepLine,
    StopLine,
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
        raise RecordingError(
            Sentence("{file} cannot be read: {why}", file=path, why=reason_of(error))
        ) from error


def _read(path: Path, file: BinaryIO) -> Recording:
    lines = _read_lines(path, file)
    header = next(lines, None)
    if not isinstance(header, Header):
        raise RecordingError(
            Sentence("{file} is not a recording: its first line is not a recording's header", file=path)
        )
    checks, events = Checks(header), []
    for number, line in enumerate(lines, 2):
        if isinstance(line, Header):
            raise _at(path, number, Sentence("a second header: it is not one recording"))
        problem = checks.problem(line)
        if problem is not None:
            raise _at(path, number, problem)
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
    cut: set[int] = field(default_factory=set)
    scheduler_us: int = 0

    def problem(self, line: Event) -> Sentence | None:
        """What cannot be true of ``line``; null if all can."""
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
            case CutLine():
                return self._cut([line.uid])
            case StopLine():
                return _counts(line) or self._cut(line.uids)
        return None

    def _in_order(self, t: int) -> Sentence | None:
        if t < self.scheduler_us:
            return Sentence(
                "the scheduler's line of {t} us stands behind one of {later} us", t=t, later=self.scheduler_us
            )
        self.scheduler_us = t
        return None

    def _request(self, line: RequestLine) -> Sentence | None:
        if line.rid in self.requests:
            return Sentence("request {rid} is there 2 times", rid=line.rid)
        if line.rid in self.submitted_by:
            return Sentence("request {rid} stands behind its submit", rid=line.rid)
        self.requests.add(line.rid)
        return None

    def _submit(self, line: SubmitLine) -> Sentence | None:
        if line.uid in self.submitted:
            return Sentence("submit of uid {uid} is there 2 times", uid=line.uid)
        self.submitted.add(line.uid)
        self.submitted_by.add(line.rid)
        return None

    def _cut(self, uids: list[int]) -> Sentence | None:
        for uid in uids:
            if uid in self.cut:
                return Sentence("uid {uid} is ended 2 times", uid=uid)
            self.cut.add(uid)
        return None

    def _arrive(self, line: ArriveLine) -> Sentence | None:
        lens = line.prompt_lens
        if isinstance(lens, list) and len(lens) != len(line.users):
            return Sentence(
                "{requests} requests arrive, with {lengths} lengths of prompts",
                requests=len(line.users),
                lengths=len(lens),
            )
        return None

    def _step(self, line: StepLine) -> Sentence | None:
        if line.n in self.rows:
            return Sentence("step {n} is there 2 times", n=line.n)
        if line.n in self.read:
            return Sentence("step {n} stands behind its tokens", n=line.n)
        if len(line.seq_lens) != len(line.uids):
            return Sentence(
                "step {n} has {rows} rows, but {lengths} lengths",
                n=line.n,
                rows=len(line.uids),
                lengths=len(line.seq_lens),
            )
        self.rows[line.n] = len(line.uids)
        return None

    def _tokens(self, line: TokensLine) -> Sentence | None:
        if line.n in self.read:
            return Sentence("tokens of step {n} is there 2 times", n=line.n)
        self.read.add(line.n)
        rows = self.rows.get(line.n)
        if rows is not None and len(line.tokens) != rows:
            return Sentence(
                "step {n} has {rows} rows, but {tokens} tokens", n=line.n, rows=rows, tokens=len(line.tokens)
            )
        if line.tokens and not -1 <= min(line.tokens) <= max(line.tokens) < self.header.vocab_size:
            return Sentence(
                "step {n} has a token outside of the vocabulary of {size}",
                n=line.n,
                size=self.header.vocab_size,
            )
        return None


def _counts(line: StopLine) -> Sentence | None:
    if len(line.replies) == len(line.uids):
        return None
    return Sentence(
        "{requests} requests are ended, with {counts} numbers of replies",
        requests=len(line.uids),
        counts=len(line.replies),
    )


def _hop(line: HopLine) -> Sentence | None:
    name = line.message.get("type")
    if name not in MESSAGES:
        return Sentence("no message is named {name!r}", name=str(name)[:60])
    return None if isinstance(line.message.get("uid"), int) else Sentence("the {name} has no uid", name=name)


class _Version(msgspec.Struct):
    """As much of a header as tells whether the rest can be understood."""

    kind: str
    version: int


def _read_lines(path: Path, file: BinaryIO) -> Iterator[Line]:
    number = 0
    while text := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        if len(text) > MAX_LINE_BYTES:
            raise _at(path, number, Sentence("longer than {most} MB", most=MAX_LINE_BYTES >> 20))
        if not text.endswith(b"\n"):
            return
        if number == 1:
            _check_version(path, text)
        try:
            yield _decoder.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _at(path, number, sentence_of(error)) from error


def _check_version(path: Path, text: bytes) -> None:
    """A later version's header may have anything else in it, so its version is looked at first."""
    try:
        head = msgspec.json.decode(text, type=_Version)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return  # no header, which the reading of the line itself will say
    if head.kind == "header" and head.version != VERSION:
        raise _at(
            path,
            1,
            Sentence(
                "recording version {version}; this program plays version {ours}",
                version=head.version,
                ours=VERSION,
            ),
        )


def _at(path: Path, number: int, problem: Sentence) -> RecordingError:
    return RecordingError(
        Sentence("{file}, line {number}: {problem}", file=path, number=number, problem=problem)
    )
