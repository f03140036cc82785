"""How several schedulers hear the same in the same round: one hands on what it receives.

The first of them sends the frames of each of its rounds to every other, as they came, and
sends also that there were none. Each other takes up one such round in each of its own. So
all see the same messages at the same point, and as they start alike and nothing else
tells them what to do, they do the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

import zmq
from zmq.utils.monitor import recv_monitor_message

from ..message import Single
from .base import read_frames
from .zmq_queue import configure


class RoundLost(RuntimeError):
    """A round that did not follow the one before: the schedulers are no longer in step."""


class ZmqRelay:
    """The first one's end: a ``Relay`` to the receiving ends at ``addresses``."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._round = 0
        self._sockets: list[zmq.Socket[bytes]] = []
        for address in addresses:
            socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PUSH)
            configure(socket)
            socket.connect(address)
            self._sockets.append(socket)

    def __call__(self, frames: list[bytes]) -> None:
        self._round += 1
        parts = [self._round.to_bytes(8, "big"), *frames]
        for socket in self._sockets:
            socket.send_multipart(parts)

    def on_loss(self, callback: Callable[[], None]) -> None:
        """``callback`` is called, in a thread of its own, once another one's end is gone."""
        for socket in self._sockets:
            _watch(socket, callback)

    def close(self) -> None:
        for socket in self._sockets:
            socket.disable_monitor()
            socket.close()


class ZmqRelayedPull:
    """The end of one of the others, a ``SyncPull``. ``address`` is where it can be reached."""

    def __init__(self, address: str, name: str) -> None:
        self._name = name
        self._round = 0
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PULL)
        configure(self._socket)
        self._socket.bind(address)
        self.address = bytes(self._socket.getsockopt(zmq.LAST_ENDPOINT)).decode()

    def drain(self, blocking: bool) -> list[Single]:
        """The messages of one round. Waits for it, as the first one decides when a round begins.

        Raises:
            RoundLost: it is not the next one.
        """
        number, *frames = self._socket.recv_multipart()
        self._round += 1
        if int.from_bytes(number, "big") != self._round:
            raise RoundLost(f"round {int.from_bytes(number, 'big')} came in the place of {self._round}")
        return read_frames(self._name, frames)

    def on_loss(self, callback: Callable[[], None]) -> None:
        """``callback`` is called, in a thread of its own, once the first one's end is gone."""
        _watch(self._socket, callback)

    def close(self) -> None:
        self._socket.disable_monitor()
        self._socket.close()


class NoPush:
    """A ``SyncPush`` of a scheduler that only follows: what it would say, the first one says."""

    def put(self, msg: object) -> None:
        pass

    def close(self) -> None:
        pass


def _watch(socket: zmq.Socket[bytes], callback: Callable[[], None]) -> None:
    monitor: Any = socket.get_monitor_socket(zmq.EVENT_DISCONNECTED | zmq.EVENT_MONITOR_STOPPED)

    def wait() -> None:
        with closing(monitor):
            event = recv_monitor_message(monitor)["event"]
        if event == zmq.EVENT_DISCONNECTED:
            callback()

    threading.Thread(target=wait, name="relay watch", daemon=True).start()
