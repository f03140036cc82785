"""``trace --step``: the stepper, on a terminal that can show it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ..language import Sentence, Tongue
from .fail import fail

if TYPE_CHECKING:
    from ..recording import Recording
    from ..stepper.app import Replay
    from ..stepper.takes import Scene

SMALLEST = (80, 24)
"""Columns and rows below which too little of a step is to be seen."""


def check_screen() -> None:
    """Ends the program with a sentence if there is no screen to step on."""
    instead = Sentence("leave --step out, and the steps are printed")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        fail(Sentence("--step needs a terminal, and this is a pipe or a file: {instead}", instead=instead))
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown", ""):
        fail(
            Sentence(
                "--step needs a terminal that can place text, and TERM says that this one cannot: {instead}",
                instead=instead,
            )
        )
    if find_spec("textual") is None:
        fail(
            Sentence(
                "--step needs the package textual, which is not installed here: {instead}", instead=instead
            )
        )
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    if 0 < columns < SMALLEST[0] or 0 < rows < SMALLEST[1]:
        fail(
            Sentence(
                "--step needs {least_columns} columns and {least_rows} rows, and this terminal has {columns} "
                "and {rows}: enlarge it, or {instead}",
                least_columns=SMALLEST[0],
                least_rows=SMALLEST[1],
                columns=columns,
                rows=rows,
                instead=instead,
            )
        )


def step_through(
    scenes: Sequence[Scene], replay: Replay, yours: Path | None, from_step: int, command: str, say: Tongue
) -> None:
    """Shows the scenes until the reader leaves. Forks are written to the current folder.

    ``command`` plays a recording again, but for its name. At the end it is printed for every fork.

    Raises:
        VirtualTimeError: the first scene cannot be played.
    """
    with _waiting(say(Sentence("playing the run ..."))):
        from ..stepper.app import StepApp
        from ..views.source import Sources

        first = replay(scenes[0].recording)
    app = StepApp(scenes, first, replay, save_fork, Sources(yours), command, say, from_step)
    app.run()
    for path in app.saved:
        print(f"{command} {path}")


@contextmanager
def _waiting(text: str) -> Iterator[None]:
    """A line on the terminal, as long as the block runs."""
    print(text, end="", flush=True)
    try:
        yield
    finally:
        print("\r\x1b[K", end="", flush=True)


def save_fork(name: str, recording: Recording) -> Path:
    """Writes it to ``NAME-fork-1.jsonl``, or -2 and so on where there is one already.

    Raises:
        OSError: it cannot be written.
    """
    for number in count(1):
        path = Path(f"{name}-fork-{number}.jsonl")
        try:
            path.open("xb").close()
        except FileExistsError:
            continue
        recording.write(path)
        return path
    raise AssertionError("numbers do not end")
