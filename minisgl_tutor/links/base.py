"""The four ends of a link, and who may watch it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from ..message import MalformedMessage, Message, Single, decode, unwrap

logger = logging.getLogger(__name__)

Relay = Callable[[list[bytes]], None]
"""Takes the frames of each ``drain``, also of one without any, before their messages are handed out."""


class LinkObserver(Protocol):
    """Sees each hop, from within the component that sends or receives: its running frame tells where."""

    def sent(self, link: str, msg: Message) -> None: ...

    def received(self, link: str, msgs: list[Single]) -> None: ...


class SyncPush(Protocol):
    """Sending end in a worker."""

    def put(self, msg: Message) -> None: ...

    def close(self) -> None: ...


class SyncPull(Protocol):
    """Receiving end in a worker."""

    def drain(self, blocking: bool) -> list[Single]:
        """All messages that have arrived, flat and in order; waits for at least one if ``blocking``.

        An end in memory never waits: it returns nothing when it is empty.
        """
        ...

    def close(self) -> None: ...


class AsyncPush(Protocol):
    """Sending end in the API server. Messages leave in the order of the calls."""

    async def put(self, msg: Message) -> None: ...

    def put_nowait(self, msg: Message) -> None: ...

    def close(self) -> None: ...


class AsyncPull(Protocol):
    """Receiving end in the API server."""

    async def get(self) -> Message: ...

    def close(self) -> None: ...


class Observers:
    """Several who watch the same link, told in their order."""

    def __init__(self, *observers: LinkObserver) -> None:
        self._observers = observers

    def sent(self, link: str, msg: Message) -> None:
        for observer in self._observers:
            observer.sent(link, msg)

    def received(self, link: str, msgs: list[Single]) -> None:
        for observer in self._observers:
            observer.received(link, msgs)


class NoObserver:
    """Watches nothing."""

    def sent(self, link: str, msg: Message) -> None:
        pass

    def received(self, link: str, msgs: list[Single]) -> None:
        pass


def no_relay(frames: list[bytes]) -> None:
    """Nobody else is to hear what was received."""


def read_frame(link: str, frame: bytes) -> Message | None:
    """The message of a frame; a malformed one is logged and dropped, so that its receiver lives on."""
    try:
        return decode(frame)
    except MalformedMessage as error:
        logger.error("dropped a malformed frame on %s: %s", link, error)
        return None


def read_frames(link: str, frames: list[bytes]) -> list[Single]:
    """The messages of all frames, flat and in order."""
    msgs: list[Single] = []
    for frame in frames:
        msg = read_frame(link, frame)
        if msg is not None:
            msgs.extend(unwrap(msg))
    return msgs
