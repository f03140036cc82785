"""Links between processes: ZeroMQ push and pull sockets over ipc.

The receiving end binds and the sending end connects, so a sender can start
first and never blocks: its frames wait in its own queue. Queues have no limit
(the server bounds the number of requests instead), and what is unsent at the
end is given up after ``LINGER_MS``.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import zmq
import zmq.asyncio

from ..message import Message, Single, encode, unwrap
from .base import LinkObserver, NoObserver, Relay, no_relay, read_frame, read_frames

LINGER_MS = 200
MAX_FRAME_BYTES = 1 << 30


def configure(socket: zmq.Socket[Any]) -> None:
    socket.setsockopt(zmq.LINGER, LINGER_MS)
    socket.setsockopt(zmq.SNDHWM, 0)
    socket.setsockopt(zmq.RCVHWM, 0)
    socket.setsockopt(zmq.MAXMSGSIZE, MAX_FRAME_BYTES)


class ZmqPushQueue:
    def __init__(self, address: str, name: str, observer: LinkObserver | None = None) -> None:
        self._name = name
        self._observer = observer or NoObserver()
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PUSH)
        configure(self._socket)
        self._socket.connect(address)

    def put(self, msg: Message) -> None:
        frame = encode(msg)
        self._observer.sent(self._name, msg)
        self._socket.send(frame, copy=False)

    def close(self) -> None:
        self._socket.close()


class ZmqPullQueue:
    """``busy_since`` is the monotonic time at which a ``drain`` last returned; None within one that waits."""

    def __init__(
        self, address: str, name: str, observer: LinkObserver | None = None, relay: Relay = no_relay
    ) -> None:
        self._name = name
        self._relay = relay
        self.busy_since: float | None = None
        self._observer = observer or NoObserver()
        self._socket: zmq.Socket[bytes] = zmq.Context.instance().socket(zmq.PULL)
        configure(self._socket)
        self._socket.bind(address)

    def wait(self, others: Iterable[int]) -> list[int]:
        """Waits until a frame is there, or one of some file descriptors is readable; those that are."""
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        for descriptor in others:
            poller.register(descriptor, zmq.POLLIN)
        return [found for found, _ in poller.poll() if isinstance(found, int)]

    def drain(self, blocking: bool) -> list[Single]:
        while True:
            self.busy_since = None
            frames = [self._socket.recv()] if blocking else []
            while self._socket.poll(0):
                frames.append(self._socket.recv())
            msgs = read_frames(self._name, frames)
            if msgs:
                self._observer.received(self._name, msgs)
            if msgs or not blocking:
                self._relay(frames)
                self.busy_since = time.monotonic()
                return msgs

    def close(self) -> None:
        self._socket.close()


class ZmqAsyncPushQueue:
    """A push never blocks (no high-water mark, connected end), so it needs no asynchronous socket."""

    def __init__(self, address: str, name: str, observer: LinkObserver | None = None) -> None:
        self._queue = ZmqPushQueue(address, name, observer)

    async def put(self, msg: Message) -> None:
        self._queue.put(msg)

    def put_nowait(self, msg: Message) -> None:
        self._queue.put(msg)

    def close(self) -> None:
        self._queue.close()


class ZmqAsyncPullQueue:
    def __init__(self, address: str, name: str, observer: LinkObserver | None = None) -> None:
        self._name = name
        self._observer = observer or NoObserver()
        self._socket = zmq.asyncio.Context.instance().socket(zmq.PULL)
        configure(self._socket)
        self._socket.bind(address)

    async def get(self) -> Message:
        while True:
            msg = read_frame(self._name, await self._socket.recv())
            if msg is not None:
                self._observer.received(self._name, unwrap(msg))
                return msg

    def close(self) -> None:
        self._socket.close()
