"""The signals that stop a server, as something to wait for instead of an exception at any point."""

from __future__ import annotations

import os
import signal
from types import FrameType, TracebackType
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """While entered, a stopping signal makes the file descriptor readable until it is taken.

    For the main thread only, as Python's signal handlers are.
    """

    def __init__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._previous: dict[signal.Signals, Any] = {}

    def fileno(self) -> int:
        return self._reader

    def take(self) -> list[signal.Signals]:
        """The signals that have come since the last call, in order."""
        try:
            return [signal.Signals(number) for number in os.read(self._reader, 64)]
        except BlockingIOError:
            return []

    def __enter__(self) -> StopSignals:
        for number in STOPPING:
            if number == signal.SIGHUP and signal.getsignal(number) == signal.SIG_IGN:
                continue  # started by nohup, to live on when the terminal closes
            self._previous[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        os.close(self._reader)
        os.close(self._writer)

    def _note(self, number: int, frame: FrameType | None) -> None:
        os.write(self._writer, bytes([number]))
