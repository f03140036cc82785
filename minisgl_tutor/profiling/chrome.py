"""A timeline as a file in Chrome's trace format, which https://ui.perfetto.dev opens.

The file is a JSON array that grows while the server runs, so that what is there can be
read however the server ends: the format does not ask for the closing bracket.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ..language import Sentence, reason_of
from .timeline import Span

SPANS_AT_ONCE = 4096
MOST_SPANS = 1_000_000
"""About 100 MB. Later ones are left out."""

NAMES = (
    '[\n{"name":"process_name","ph":"M","pid":1,"args":{"name":"minisgl-tutor"}},\n'
    '{"name":"thread_name","ph":"M","pid":1,"tid":1,"args":{"name":"scheduler"}}'
)

logger = logging.getLogger(__name__)


class ProfileError(ValueError):
    """A file that cannot be written, or is no profile; made with a ``Sentence`` for the user."""


class TraceFile:
    """Spans go to a file, many at a time, up to ``most`` of them.

    Raises:
        ProfileError: it cannot be written.
    """

    def __init__(self, path: Path, most: int = MOST_SPANS) -> None:
        self._path = path
        self._waiting: list[Span] = []
        self._room = most
        try:
            path.write_text(NAMES, encoding="utf-8")
        except OSError as error:
            raise ProfileError(
                Sentence("{path} cannot be written: {reason}", path=path, reason=reason_of(error))
            ) from None

    def write(self, span: Span) -> None:
        if self._room:
            self._room -= 1
            self._waiting.append(span)
            if len(self._waiting) == SPANS_AT_ONCE:
                self.flush()

    def flush(self) -> None:
        """A disk that is full ends the profile and not the server."""
        waiting, self._waiting = self._waiting, []
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.writelines(map(_event, waiting))
        except OSError as error:
            self._room = 0
            logger.error("%s cannot be written any more (%s): it ends here", self._path, error.strerror)

    def close(self) -> None:
        self.flush()
        finish(self._path)


def finish(path: Path) -> None:
    """Closes the array of a profile whose process has ended. Other readers than Perfetto ask for it."""
    try:
        text = path.read_bytes()
        if not text.endswith(b"]\n"):
            # Whoever killed the process may have torn its last line.
            path.write_bytes(text[: text.rfind(b"}}") + 2] + b"\n]\n")
    except OSError as error:
        raise ProfileError(
            Sentence("{path} cannot be written: {reason}", path=path, reason=reason_of(error))
        ) from None


def read_spans(path: Path) -> Iterator[Span]:
    """The spans of a finished profile.

    Raises:
        ProfileError: it is none.
    """
    try:
        for event in msgspec.json.decode(path.read_bytes(), type=list[dict[str, Any]]):
            if event["ph"] == "X":
                begin, took = round(event["ts"] * 1000), round(event["dur"] * 1000)
                args = event["args"]
                hid = round(args.get("hid_us", 0) * 1000)
                yield Span(event["name"], begin, begin + took, args["step"], hid, args.get("what", ""))
    except OSError as error:
        raise ProfileError(
            Sentence("{path} cannot be read: {reason}", path=path, reason=reason_of(error))
        ) from None
    except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError):
        raise ProfileError(Sentence("{path} is not a profile of this program", path=path)) from None


def _event(span: Span) -> str:
    """One complete event; times are microseconds there."""
    hid = f',"hid_us":{span.hid_ns / 1000}' if span.hid_ns else ""
    what = f',"what":"{span.what}"' if span.what else ""
    return (
        f',\n{{"name":"{span.phase}","ph":"X","pid":1,"tid":1,"ts":{span.begin_ns / 1000},'
        f'"dur":{(span.end_ns - span.begin_ns) / 1000},"args":{{"step":{span.step}{what}{hid}}}}}'
    )
