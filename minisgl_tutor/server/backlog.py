"""What a client that does not read has waiting for it: how much that is, and how it is caught up with."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from weakref import WeakKeyDictionary

from ..message import ErrorReply, Reply, UserReply

FAR_BEHIND = 64
"""From so many unread replies on they become one. Fewer may be due to a busy moment of this process."""

SLOW_READER = "slow_reader"
"""The code of the error that ends the request of a client that is too far behind."""

LOGPROB_BYTES = 64
"""What one logprob takes at least, with its token."""


def size_of(reply: Reply) -> int:
    """Bytes that a reply has for its client: its text, and about as many as its logprobs take."""
    if isinstance(reply, ErrorReply):
        return 0
    text = reply.incremental_output
    size = len(text) if text.isascii() else len(text.encode(errors="replace"))
    if reply.logprobs:
        size += sum(1 + len(entry.top) for entry in reply.logprobs) * LOGPROB_BYTES
    return size


def merged(replies: Sequence[Reply]) -> list[Reply]:
    """The same text in one reply, with what the last one says of the end; an error stays by itself."""
    texts = [reply for reply in replies if isinstance(reply, UserReply)]
    errors = [reply for reply in replies if isinstance(reply, ErrorReply)]
    if len(texts) < 2:
        return list(replies)
    last = texts[-1]
    whole = UserReply(
        uid=last.uid,
        incremental_output="".join(reply.incremental_output for reply in texts),
        finished=last.finished,
        finish_reason=last.finish_reason,
        usage=last.usage,
        logprobs=tuple(entry for reply in texts for entry in reply.logprobs),
    )
    return [whole, *errors]


class UnreadBytes:
    """How many bytes wait for each client that is behind. Kept with a request's event, and gone with it."""

    def __init__(self) -> None:
        self._sizes: WeakKeyDictionary[asyncio.Event, int] = WeakKeyDictionary()

    def __len__(self) -> int:
        return len(self._sizes)

    def grown(self, event: asyncio.Event, unread: Sequence[Reply]) -> int:
        """The bytes of ``unread``, to which one reply has just been added."""
        if len(unread) == 1:
            return size_of(unread[0])
        if len(unread) == 2:  # the first of a new list was not counted
            size = size_of(unread[0]) + size_of(unread[1])
        else:
            size = self._sizes.get(event, 0) + size_of(unread[-1])
        self._sizes[event] = size
        return size
