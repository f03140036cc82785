"""Reading a recording: what cannot be played is refused with a sentence that says where and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from .lines import (
    VERSION,
    Event,
    Header,
    Line,
    Recording,
    RecordingError,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
)

MAX_LINE_BYTES = 64 << 20

_decoder = msgspec.json.Decoder(Line)


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
    problem = contradiction(header, events)
    if problem is not None:
        raise RecordingError(f"{path} contradicts itself: {problem}")
    # Several processes write one file: a line may stand after a later one of another process.
    return Recording(header, sorted(events, key=lambda line: line.t))


def contradiction(header: Header, events: Sequence[Event]) -> str | None:
    """What cannot be true together, as a sentence; null if all can.

    What a killed server leaves may end anywhere, so nothing has to be complete. But
    nothing happens twice, and an engine gives a token of its vocabulary for each row.
    """
    for name, seen in (
        ("request", [line.rid for line in events if isinstance(line, RequestLine)]),
        ("submit of uid", [line.uid for line in events if isinstance(line, SubmitLine)]),
        ("step", [line.n for line in events if isinstance(line, StepLine)]),
        ("tokens of step", [line.n for line in events if isinstance(line, TokensLine)]),
    ):
        number, count = max(Counter(seen).items(), key=lambda item: item[1], default=(0, 0))
        if count > 1:
            return f"{name} {number} is there {count} times"
    steps = {line.n: line for line in events if isinstance(line, StepLine)}
    for step in steps.values():
        if len(step.seq_lens) != len(step.uids):
            return f"step {step.n} has {len(step.uids)} rows, but {len(step.seq_lens)} lengths"
    for line in events:
        if not isinstance(line, TokensLine):
            continue
        if line.n in steps and len(line.tokens) != len(steps[line.n].uids):
            return f"step {line.n} has {len(steps[line.n].uids)} rows, but {len(line.tokens)} tokens"
        if line.tokens and not -1 <= min(line.tokens) <= max(line.tokens) < header.vocab_size:
            return f"step {line.n} has a token outside of the vocabulary of {header.vocab_size}"
    return None


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
