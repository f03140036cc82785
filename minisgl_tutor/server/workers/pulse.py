"""Signs of life: what each worker tells its parent once a second.

They go over a pipe of their own and come from a thread of their own: no message
waits for them, and none of them is ever on a link. A worker that is stopped
gives no sign. One whose loop does not come round still does, as it may compute:
it says for how long, which is a fault only much later.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from multiprocessing.connection import Connection

import msgspec

BEAT_EVERY_S = 1.0
LENGTH_BYTES = 4
TRIES = 5

Held = Mapping[int, Mapping[str, int]]
Tell = Callable[[Held], Held]


class Amount(msgspec.Struct, frozen=True, array_like=True):
    """Of one thing that a component keeps: for how many requests, and how much in all."""

    requests: int
    total: int


class Beat(msgspec.Struct, frozen=True):
    """A sign of life. ``round_s`` is how long the worker's loop has been at its present round.

    ``requests`` is what is held for each, if that is told; ``taken`` the monotonic time of it all,
    which is the same for all processes of a machine.
    """

    round_s: float = 0.0
    held: dict[str, Amount] = {}
    gauges: dict[str, float] = {}
    requests: dict[int, dict[str, int]] = {}
    taken: float = 0.0


def framed(beat: Beat) -> bytes:
    """A beat as it goes through a pipe: behind its length, so that it can be read piece by piece."""
    data = msgspec.msgpack.encode(beat)
    return len(data).to_bytes(LENGTH_BYTES, "big") + data


def nothing_held() -> Held:
    return {}


def in_sums(held: Held) -> Held:
    """Nothing of a single request is told."""
    return {}


def by_request(held: Held) -> Held:
    """What is held for each request is told, too."""
    return held


def no_gauges() -> dict[str, float]:
    return {}


def at_rest() -> float | None:
    return None


def amounts(held: Held) -> dict[str, Amount]:
    """What ``held`` says, without the uids."""
    found: dict[str, Amount] = {}
    for kept in held.values():
        for name, amount in kept.items():
            before = found.get(name, Amount(0, 0))
            found[name] = Amount(before.requests + 1, before.total + amount)
    return found


class Pulse:
    """The worker's end of the pipe. ``tell`` says what of the requests is told besides the sums."""

    def __init__(self, pipe: Connection, tell: Tell = in_sums) -> None:
        self._pipe = pipe
        self._tell = tell

    def start(
        self,
        held: Callable[[], Held] = nothing_held,
        gauges: Callable[[], dict[str, float]] = no_gauges,
        busy_since: Callable[[], float | None] = at_rest,
    ) -> None:
        """Begins to beat. All three are asked from another thread than the worker's loop: what is
        held, any numbers to watch, and when the loop began its present round, if it does not wait.
        """

        def beat() -> None:
            with suppress(OSError), os.fdopen(os.dup(self._pipe.fileno()), "wb") as out:
                while True:  # until nobody listens any more
                    out.write(framed(take(held, gauges, busy_since, self._tell)))
                    out.flush()
                    time.sleep(BEAT_EVERY_S)

        threading.Thread(target=beat, name="pulse", daemon=True).start()

    def close(self) -> None:
        self._pipe.close()


def take(
    held: Callable[[], Held],
    gauges: Callable[[], dict[str, float]],
    busy_since: Callable[[], float | None],
    tell: Tell = in_sums,
) -> Beat:
    """One beat."""
    since, now = busy_since(), time.monotonic()
    round_s = 0.0 if since is None else now - since
    kept = _look(held)
    told = {uid: dict(parts) for uid, parts in tell(kept).items()}
    return Beat(round_s, amounts(kept), gauges(), told, now)


def _look(held: Callable[[], Held]) -> Held:
    for _ in range(TRIES):
        try:
            return held()
        except RuntimeError:  # the loop changed a map meanwhile
            continue
    return {}
