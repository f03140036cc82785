"""``trace --step``: the stepper, on a terminal that can show it."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from ..language import Sentence, Tongue
from .fail import fail
from .program import program

if TYPE_CHECKING:
    from ..recording import Recording
    from ..trace.play import Play
    from .trace_plays import Chosen, Player

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


def step_through(plays: Sequence[Chosen], player: Player, from_step: int, say: Tongue) -> None:
    """Shows the plays until the reader leaves. Forks are written to the current folder, and at the end the
    command that plays each of them is printed.

    Raises:
        VirtualTimeError: the first one cannot be played.
    """
    with _waiting(say(Sentence("playing the run ..."))):
        from ..stepper.app import StepApp
        from ..stepper.takes import Scene
        from ..trace.fork import under_gaps
        from ..views.source import Sources

        def replay(recording: Recording) -> Play:
            return player.play(recording, tuple(recording.header.gaps))

        scenes = [Scene(each.name, each.title, under_gaps(each.recording, each.gaps)) for each in plays]
        first = replay(scenes[0].recording)
    command = _command(player)
    app = StepApp(scenes, first, replay, save_fork, Sources(player.yours), command, say, from_step)
    app.run()
    for path in app.saved:
        print(f"{command} {path}")


def _command(player: Player) -> str:
    """What plays a fork again, but for its name: with that which a fork does not say of itself."""
    from .trace import SPEC_VERSION

    options = {"--tokenizer": player.tokenizer, "--yours": player.yours}
    words = [word for name, value in options.items() if value for word in (name, str(value))]
    words += [] if player.spec_version == SPEC_VERSION else ["--spec-version", player.spec_version]
    return " ".join([f"{program()} trace", *map(shlex.quote, words)])


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
