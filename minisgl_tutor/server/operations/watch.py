"""How the workers are, by the signs of life that they give."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection

import msgspec

from ..config import Limits
from ..health import OK
from ..workers.pulse import LENGTH_BYTES, Beat

FRONTEND = "minisgl-api-server"
"""The name of this process, beside those of its workers."""

logger = logging.getLogger(__name__)


class Pulses:
    """The parent's end of the pipes of all workers, by their names. ``clock`` counts seconds."""

    def __init__(
        self, pipes: Mapping[str, Connection], limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        now = clock()
        self.beats: dict[str, Beat] = {name: Beat() for name in pipes}
        """The last of each worker."""
        self._pipes = {name: _Frames(pipe) for name, pipe in pipes.items()}
        self._limits = limits
        self._clock = clock
        self._heard = dict.fromkeys(self.beats, now)

    def listen(self) -> None:
        """Takes in what has come, and waits for nothing. To be called once a second or so, lest the
        pipes fill.
        """
        for name, pipe in list(self._pipes.items()):
            for frame in pipe.take():
                self._take(name, frame)
            if pipe.ended:
                del self._pipes[name]  # the worker has ended, which its sentinel tells

    def conditions(self) -> dict[str, str]:
        """Each worker's name, and ``OK`` or what is wrong with it now."""
        self.listen()  # first: it may be this process that was held up
        now = self._clock()
        return {name: self._condition(name, beat, now) for name, beat in self.beats.items()}

    def _take(self, name: str, data: bytes) -> None:
        try:
            self.beats[name] = msgspec.msgpack.decode(data, type=Beat)
        except msgspec.DecodeError:
            logger.error("%s gave a sign that cannot be read", name)
        self._heard[name] = self._clock()

    def _condition(self, name: str, beat: Beat, now: float) -> str:
        silent = now - self._heard[name]
        if silent >= self._limits.hung_after:
            return f"has given no sign of life for {silent:.0f} s"
        if beat.round_s >= self._limits.stuck_after:
            return f"has been in one step for {beat.round_s:.0f} s"
        return OK


class _Frames:
    """What comes through one pipe. Of a beat that is not whole yet, what has come is kept."""

    def __init__(self, pipe: Connection) -> None:
        os.set_blocking(pipe.fileno(), False)
        self.ended = False
        self._pipe = pipe
        self._data = bytearray()

    def take(self) -> list[bytes]:
        """Those that are whole."""
        try:
            while data := os.read(self._pipe.fileno(), 1 << 16):
                self._data += data
            self.ended = True
        except BlockingIOError:
            pass
        except OSError:
            self.ended = True
        frames = []
        while len(self._data) >= (end := LENGTH_BYTES + int.from_bytes(self._data[:LENGTH_BYTES], "big")):
            frames.append(bytes(self._data[LENGTH_BYTES:end]))
            del self._data[:end]
        return frames
