"""Reads a stream of server-sent events strictly, and remembers when each was complete (C5.87, C5.98)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_LINE_END = re.compile(rb"\r\n|\n|\r")


class Event(NamedTuple):
    """``data``: its data lines, joined. ``at_us``: when the empty line behind it had come."""

    at_us: int
    data: str


def events(pieces: Iterable[tuple[int, bytes]]) -> tuple[list[Event], bytes]:
    """The events in pieces that came at those times, however they were cut; and what no empty line ends."""
    found: list[Event] = []
    rest = b""
    for at_us, piece in pieces:
        rest += piece
        cut = len(rest) - rest.endswith(b"\r")  # a line feed may follow
        *blocks, begun = _LINE_END.sub(b"\n", rest[:cut]).split(b"\n\n")
        rest = begun + rest[cut:]
        for block in blocks:
            if lines := _data(block):
                found.append(Event(at_us, "\n".join(lines)))
    return found, rest


def _data(block: bytes) -> list[str]:
    lines = block.decode(errors="replace").split("\n")
    return [
        line.removeprefix("data:").removeprefix(" ")
        for line in lines
        if line == "data" or line.startswith("data:")
    ]
