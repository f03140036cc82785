"""Who is told of an end that the server itself makes, which no message on a link shows."""

from __future__ import annotations

from collections.abc import Callable

from ..message import ErrorReply

OnEnd = Callable[[ErrorReply, dict[int, int]], None]
"""Gets the error, and by uid how many replies are unread; an error without a uid ends all service."""


def tell_nobody(reply: ErrorReply, unread: dict[int, int]) -> None:
    """An ``OnEnd`` for where nothing is recorded."""
