"""``trace --step``: the stepper, on a terminal that can show it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from .fail import fail

if TYPE_CHECKING:
    from ..recording import Recording
    from ..stepper.app import Replay
    from ..stepper.takes import Scene

SMALLEST = (80, 24)
"""Columns and rows below which too little of a step is to be seen."""


def check_screen() -> None:
    """Ends the program with a sentence if there is no screen to step on."""
    instead = "leave --step out, and the steps are printed"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        fail(f"--step needs a terminal, and this is a pipe or a file: {instead}")
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown", ""):
        fail(f"--step needs a terminal that can place text, and TERM says that this one cannot: {instead}")
    if find_spec("textual") is None:
        fail(f"--step needs the package textual, which is not installed here: {instead}")
    columns, rows = os.get_terminal_size(sys.stdout.fileno())
    if 0 < columns < SMALLEST[0] or 0 < rows < SMALLEST[1]:
        least = f"{SMALLEST[0]} columns and {SMALLEST[1]} rows"
        fail(f"--step needs {least}, and this terminal has {columns} and {rows}: enlarge it, or {instead}")


def step_through(
    scenes: Sequence[Scene], replay: Replay, yours: Path | None, from_step: int, command: str
) -> None:
    """Shows the scenes until the reader leaves. Forks are written to the current folder.

    ``command`` plays a recording again, but for its name. At the end it is printed for every fork.

    Raises:
        VirtualTimeError: the first scene cannot be played.
    """
    from ..stepper.app import StepApp
    from ..views.source import Sources

    first = replay(scenes[0].recording)
    app = StepApp(scenes, first, replay, save_fork, Sources(yours), command, from_step)
    app.run()
    for path in app.saved:
        print(f"{command} {path}")


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
