"""Records what the server itself ended. It is told by the front end, as no link shows it."""

from __future__ import annotations

from collections.abc import Callable

from ..message import ErrorReply
from .lines import CutLine, StopLine
from .recorder import RecordFile


class EndingLog:
    """``replies`` says how many replies have come for a request that is still open."""

    def __init__(self, file: RecordFile, replies: Callable[[int], int]) -> None:
        self._file = file
        self._replies = replies

    def ended(self, reply: ErrorReply, unread: dict[int, int]) -> None:
        """The server ends requests by ``reply``; one without a uid is the end of its service. ``unread`` has
        their uids, and how many replies of each are not told of yet.
        """
        now, counts = self._file.now_us(), [self._replies(uid) for uid in unread]
        if reply.uid < 0:
            self._file.write(StopLine(now, list(unread), counts, reply.message))
            return
        for (uid, left), count in zip(unread.items(), counts, strict=True):
            self._file.write(CutLine(now, uid, count, left, reply.status, reply.code, reply.message))
