"""The steps of a play: what moved from where to where, by which line of code, and what everybody held then.

Views render this list and compute nothing.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, Literal

import msgspec

from ..language import NOTHING, Sentence
from ..resources import PACKAGE_DIR

Held = dict[str, dict[int, dict[str, int]]]
"""component -> uid -> what it keeps for it -> how much."""

Kind = Literal["client", "message", "call", "gap", "fork"]
"""``client``: between a client and the server; ``message``: a hop on a link; ``call``: scheduler to engine,
in the same process; ``gap``: the auditor found something left behind; ``fork``: from here on the run goes on
otherwise than it was recorded."""

_HIDDEN = tuple(str(PACKAGE_DIR / room) for room in ("links", "trace", "cli", "__main__"))


class Location(msgspec.Struct, frozen=True):
    """A place in the code, ``file`` relative to the package (or the name of a reader's own file)."""

    file: str
    line: int
    function: str


class Step(msgspec.Struct):
    """One step.

    ``t_us`` is the virtual time at which it left and ``arrived_us`` at which it
    was taken in (null: never). ``where`` is the code that sent it, innermost
    first. ``before`` and ``after`` are what all components held when it was
    taken in and once it had been dealt with. A gap step has ``claims`` and ``gap``.
    ``ended_us`` is when the tokens of a call were read (null: never, or not a call).
    What ``content`` has for a reader, and ``note``, are sentences (see :func:`encoded`).
    """

    number: int
    t_us: int
    kind: Kind
    source: str
    target: str
    title: str
    uids: list[int]
    content: list[dict[str, Any]]
    where: list[Location]
    arrived_us: int | None = None
    before: Held = {}
    after: Held = {}
    note: Sentence = NOTHING
    gap: str = ""
    claims: list[str] = []
    ended_us: int | None = None

    def changed(self) -> list[str]:
        """Components whose state the step changed."""
        names = sorted(self.before.keys() | self.after.keys())
        return [name for name in names if self.before.get(name, {}) != self.after.get(name, {})]


def encoded(value: object) -> bytes:
    """Steps, or what has some in it, as JSON; sentences are English there."""
    return msgspec.json.encode(value, enc_hook=_plain)


def _plain(value: object) -> str:
    if isinstance(value, Sentence):
        return str(value)
    raise NotImplementedError(f"{type(value).__name__} is not to be written as JSON")


def code_location(depth: int = 3) -> list[Location]:
    """The frames that are running now, innermost first, without those of the links and of the stage."""
    found: list[Location] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < depth:
        file = frame.f_code.co_filename
        if _is_own(file) or "__reader_file__" in frame.f_globals:
            found.append(Location(_short(file), frame.f_lineno, frame.f_code.co_qualname))
        elif found and not _is_in_package(file):
            break  # out of the package again: what called it is not part of the system
        frame = frame.f_back
    return found


@cache
def _is_in_package(file: str) -> bool:
    return file.startswith(str(PACKAGE_DIR))


@cache
def _is_own(file: str) -> bool:
    """Whether it is a part of the system, and none of what carries or shows it."""
    return _is_in_package(file) and not file.startswith(_HIDDEN)


@cache
def _short(file: str) -> str:
    path = Path(file)
    return path.relative_to(PACKAGE_DIR).as_posix() if path.is_relative_to(PACKAGE_DIR) else path.name
