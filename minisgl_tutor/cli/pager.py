"""Long output on a terminal goes through the reader's pager, as git does it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TextIO


def pager_of(environment: Mapping[str, str], is_terminal: bool) -> str:
    """The command to pipe output through; empty for none: no terminal, or ``PAGER`` is empty or ``cat``."""
    pager = environment.get("PAGER", "less")
    return "" if not is_terminal or pager.strip() == "cat" else pager.strip()


@contextmanager
def paged(wanted: bool) -> Iterator[TextIO]:
    """Standard output, or what leads to it by a pager if that is ``wanted`` and somebody sits there.

    The block ends quietly once the reader has quit the pager.
    """
    command = pager_of(os.environ, wanted and sys.stdout.isatty())
    if not command:
        yield sys.stdout
        return
    # As for git: end if it fits the screen, keep colours, leave the text there.
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    process = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)
    assert process.stdin is not None
    out = io.TextIOWrapper(process.stdin, encoding="utf-8", errors="replace", write_through=True)
    try:
        with suppress(BrokenPipeError):
            yield out
    finally:
        with suppress(BrokenPipeError):
            out.close()
        _wait(process)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Until the reader has quit; Ctrl+C is for the pager."""
    while process.poll() is None:
        with suppress(KeyboardInterrupt):
            process.wait()
