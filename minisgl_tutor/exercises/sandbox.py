"""What the child process may use while a reader's code runs in it.

This keeps accidents in: a loop without end, a list without end, a flood of
output. It is no wall against somebody who wants out.
"""

from __future__ import annotations

import gc
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from ..language import Sentence
from ..language.wire import Said
from .wire import Raised

MEMORY_BYTES = 512 << 20
"""What a reader's file may take beyond what the checker itself has."""

CPU_S = 30
FILE_BYTES = 16 << 20
MANY_SLEEPS = 100
STUCK_S = 3.0
"""Longer than this in one play, of which each takes some milliseconds, is not going to end."""

_PROCESS = Sentence("starting another process is not allowed in a check")
_PROGRAM = Sentence("starting another program is not allowed in a check")
_SIGNAL = Sentence("sending signals is not allowed in a check")
NO_THREAD = Sentence("starting a thread is not allowed in a check")

_REFUSED = {
    "os.fork": _PROCESS,
    "os.forkpty": _PROCESS,
    "os.posix_spawn": _PROCESS,
    "os.exec": _PROGRAM,
    "os.system": _PROGRAM,
    "subprocess.Popen": _PROGRAM,
    "os.kill": _SIGNAL,
    "os.killpg": _SIGNAL,
}


class NotAllowed(Exception):
    """Something that no exercise needs and no check allows."""


def limit_resources() -> None:
    """Bounds memory, processor time and file size from now on, where the platform can."""
    import resource

    def at_most(kind: int, amount: int) -> None:
        _, hard = resource.getrlimit(kind)
        if hard != resource.RLIM_INFINITY:
            amount = min(amount, hard)
        resource.setrlimit(kind, (amount, hard))

    used = time.process_time()
    at_most(resource.RLIMIT_CPU, int(used) + CPU_S)
    at_most(resource.RLIMIT_FSIZE, FILE_BYTES)
    at_most(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":
        # What is mapped already counts: the libraries alone map much more than they use.
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        at_most(resource.RLIMIT_AS, pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_BYTES)


def refuse_processes() -> None:
    """Other processes, threads and signals raise ``NotAllowed`` from now on. This cannot be taken back."""

    def hook(event: str, arguments: object) -> None:
        if event in _REFUSED:
            raise NotAllowed(_REFUSED[event])

    def start(thread: threading.Thread) -> None:
        raise NotAllowed(NO_THREAD)

    sys.addaudithook(hook)
    setattr(threading.Thread, "start", start)  # noqa: B010


def note_sleeping(file: Path, blocked: list[Raised]) -> None:
    """``time.sleep`` returns at once from now on, and is entered in ``blocked``: it would hold the loop."""
    really_sleep = time.sleep

    def sleep(seconds: float, /) -> None:
        if len(blocked) >= MANY_SLEEPS:
            really_sleep(seconds)  # a loop around it never ends: the watchdog tells
        blocked.append(Raised(f"time.sleep({seconds!r})", Said(), _line(sys._getframe(1), file)[0]))

    time.sleep = sleep  # type: ignore[assignment]


class Watchdog:
    """A thread that calls ``bark``, with line and function, when the reader's code keeps control too long."""

    def __init__(self, file: Path, bark: Callable[[int, str], None]) -> None:
        self._file = file
        self._bark = bark
        self._main = threading.get_ident()
        self._since: float | None = None
        self._tick = threading.Event()
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    @contextmanager
    def watching(self) -> Iterator[None]:
        self._since = time.monotonic()
        try:
            yield
        finally:
            self._since = None

    def _watch(self) -> None:
        while not self._tick.wait(0.1):
            since = self._since
            if since is not None and time.monotonic() - since > STUCK_S:
                self._bark(*_line(sys._current_frames().get(self._main), self._file))


def _line(frame: FrameType | None, file: Path) -> tuple[int, str]:
    """The innermost line of the reader's file among the frames, and its function; 0 if there is none."""
    while frame is not None:
        if frame.f_code.co_filename == str(file):
            return frame.f_lineno, frame.f_code.co_qualname
        frame = frame.f_back
    return 0, ""


def settle_memory() -> None:
    """Collects by hand from now on, and never again what exists already: each play tidies up its own."""
    gc.collect()
    gc.freeze()
    gc.disable()
