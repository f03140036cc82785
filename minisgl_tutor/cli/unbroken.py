"""Chinese on a terminal: Rich breaks lines at spaces, and Chinese has few.

So wherever a line may be broken stands a mark, a space to Rich, and the marks are taken out on the way.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any, TextIO, cast

from ..views.breaks import BREAK, with_breaks

SPACE = "\ue000"
"""Stands for a space. At the end of a line of wide characters Rich would see too late that one hangs over."""


def breakable(text: str) -> str:
    """``text`` with marks. To be shown through ``Unbroken``."""
    return with_breaks(text).replace(" ", SPACE + BREAK)


class Unbroken:
    """A stream without the marks; in all else as the one behind it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(text.replace(BREAK, "").replace(SPACE, " "))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def unbroken_output() -> Iterator[None]:
    """Standard output, without marks in the block."""
    with redirect_stdout(cast(TextIO, Unbroken(sys.stdout))):
        yield
