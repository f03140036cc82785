"""How the workers are, by the signs of life that they give."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection

import msgspec

from ..config import Limits
from ..health import OK
from ..workers.pulse import Beat

logger = logging.getLogger(__name__)


class Pulses:
    """The parent's end of the pipes of all workers, by their names. ``clock`` counts seconds."""

    def __init__(
        self, pipes: Mapping[str, Connection], limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        now = clock()
        self.beats: dict[str, Beat] = {name: Beat() for name in pipes}
        """The last of each worker."""
        self._pipes = dict(pipes)
        self._limits = limits
        self._clock = clock
        self._heard = dict.fromkeys(self.beats, now)

    def listen(self) -> None:
        """Takes in what has come. To be called once a second or so, lest the pipes fill."""
        for name, pipe in list(self._pipes.items()):
            try:
                while pipe.poll():
                    self._take(name, pipe.recv_bytes())
            except (EOFError, OSError):
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
