"""Requests that take too long are ended by the server: their clients get an error, the scheduler an abort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ...message import ErrorReply
from ..config import Limits
from ..frontend import FrontendManager

Overdue = Callable[[float, float], tuple[list[int], list[int]]]
"""The uids without a token for so many seconds, and others without an end for so many."""


class Deadlines:
    """``expired`` counts what was ended, by which limit."""

    def __init__(self, state: FrontendManager, overdue: Overdue, limits: Limits) -> None:
        self.expired: Counter[str] = Counter()
        self._state = state
        self._overdue = overdue
        self._limits = limits

    def look(self) -> None:
        """Ends what is overdue now. To be called several times a second."""
        limits = self._limits
        first, whole = self._overdue(limits.first_token_timeout, limits.request_timeout)
        for uid in first:
            self._end(uid, "first_token_timeout", f"no token within {limits.first_token_timeout:g} s")
        for uid in whole:
            self._end(uid, "request_timeout", f"no end within {limits.request_timeout:g} s")

    def _end(self, uid: int, code: str, what: str) -> None:
        if uid not in self._state.unanswered:
            return
        self.expired[code] += 1
        message = f"the request had {what} and was ended; try again later, or ask for less"
        self._state.cut_short(uid, ErrorReply(uid=uid, message=message, status=504, code=code))
