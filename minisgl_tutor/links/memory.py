"""Links within one process. They carry the encoded frames, so nothing is shared by reference."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

from ..message import Message, Single, encode, unwrap
from .base import LinkObserver, NoObserver, read_frame, read_frames

Carrier = Callable[["MemoryChannel", bytes], None]


class MemoryChannel:
    """One direction between two components.

    ``carry`` decides when a frame arrives, by calling :meth:`arrive`; without
    one it arrives at once. ``into`` is the channel whose receiver reads it, where
    several senders share one; its own by default. ``on_arrival`` is called after
    each arrival, for whoever drives the receiving worker.
    """

    def __init__(
        self,
        name: str,
        observer: LinkObserver | None = None,
        carry: Carrier | None = None,
        into: MemoryChannel | None = None,
        on_arrival: Callable[[], None] | None = None,
    ) -> None:
        self.name = name
        self.observer = observer or NoObserver()
        self.frames: deque[bytes] = deque()
        self._carry = carry
        self._into = into
        self._on_arrival = on_arrival
        self._waiter: asyncio.Future[None] | None = None

    def send(self, msg: Message) -> None:
        frame = encode(msg)
        self.observer.sent(self.name, msg)
        if self._carry is None:
            self.arrive(frame)
        else:
            self._carry(self, frame)

    def arrive(self, frame: bytes) -> None:
        if self._into is not None:
            self._into.arrive(frame)
            return
        self.frames.append(frame)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        if self._on_arrival is not None:
            self._on_arrival()

    async def wait(self) -> None:
        """Returns once a frame is there."""
        while not self.frames:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter


class MemoryPush:
    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel

    def put(self, msg: Message) -> None:
        self._channel.send(msg)

    def close(self) -> None:
        pass


class MemoryAsyncPush:
    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel

    async def put(self, msg: Message) -> None:
        self._channel.send(msg)

    def put_nowait(self, msg: Message) -> None:
        self._channel.send(msg)

    def close(self) -> None:
        pass


class MemoryPull:
    """Never waits: whoever drives the worker moves time on."""

    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel

    def drain(self, blocking: bool) -> list[Single]:
        frames = list(self._channel.frames)
        self._channel.frames.clear()
        msgs = read_frames(self._channel.name, frames)
        if msgs:
            self._channel.observer.received(self._channel.name, msgs)
        return msgs

    def close(self) -> None:
        pass


class MemoryAsyncPull:
    def __init__(self, channel: MemoryChannel) -> None:
        self._channel = channel

    async def get(self) -> Message:
        while True:
            await self._channel.wait()
            msg = read_frame(self._channel.name, self._channel.frames.popleft())
            if msg is not None:
                self._channel.observer.received(self._channel.name, unwrap(msg))
                return msg

    def close(self) -> None:
        pass
