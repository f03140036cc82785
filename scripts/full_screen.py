"""What a program that fills the screen shows first, on a pseudo-terminal."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyte

PATIENCE_S = 60.0
QUIET_S = 0.3
"""Once the last row is painted, and nothing comes for so long, the screen is complete."""

QUIT = b"q"


def first_screen(
    program: Sequence[str], folder: Path, environment: Mapping[str, str], columns: int, rows: int
) -> str:
    """The rows of the screen as soon as it stands still. The program is then left by the key ``q``.

    Raises:
        RuntimeError: the program ended without a screen, or cannot be left. The message has the screen.
    """
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (rows, columns))
    process = subprocess.Popen(
        program,
        cwd=folder,
        env=dict(environment),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    screen = pyte.Screen(columns, rows)
    stream = pyte.ByteStream(screen)
    try:
        while not screen.display[-1].strip():
            if not (piece := _read(ours, PATIENCE_S)):
                raise RuntimeError(f"no screen: {_text(screen)}")
            stream.feed(piece)
        while piece := _read(ours, QUIET_S):
            stream.feed(piece)
        text = _text(screen)
        os.write(ours, QUIT)
        while _read(ours, PATIENCE_S):
            pass
        if process.wait(PATIENCE_S) != 0:
            raise RuntimeError(f"the program ended with status {process.returncode}: {text}")
        return text
    finally:
        process.kill()
        process.wait()
        os.close(ours)


def _read(file: int, seconds: float) -> bytes:
    """What comes next; empty if nothing comes for so long, or ever again."""
    ready, _, _ = select.select([file], [], [], seconds)
    if not ready:
        return b""
    try:
        return os.read(file, 1 << 16)
    except OSError:  # how Linux says that the other end is closed
        return b""


def _text(screen: pyte.Screen) -> str:
    return "\n".join(line.rstrip() for line in screen.display).rstrip() + "\n"
