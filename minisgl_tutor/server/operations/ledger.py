"""What the API process sees go out and come back, kept as numbers: how many, how long, how it ended.

A link tells of each message that passes, so no component knows of this. A
request is here from its ``TokenizeMsg`` to its finished reply or its abort.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...message import AbortMsg, ErrorReply, Message, Single, TokenizeMsg, UserReply

WAIT_BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
TOKEN_BOUNDS_S = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 2, 5)


class Distribution:
    """Times in seconds, counted by the least of ``bounds`` that is not below them."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.sum = 0.0

    def add(self, seconds: float) -> None:
        self.counts[bisect_left(self.bounds, seconds)] += 1
        self.sum += seconds


@dataclass(slots=True)
class UnderWay:
    """A request under way: when it was sent off, when its last token came, and how many did."""

    begun: float
    last: float
    tokens: int = 0


class Ledger:
    """Watches the links of the API process (``LinkObserver``). ``clock`` counts seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.waiting: dict[int, UnderWay] = {}
        """Requests without a token, oldest first."""
        self.running: dict[int, UnderWay] = {}
        self.ended: Counter[str] = Counter()
        """By the reason: that of the finished reply, "abort", or "error"."""
        self.prompt_tokens = 0
        self.cached_tokens = 0
        self.generation_tokens = 0
        self.first_token = Distribution(WAIT_BOUNDS_S)
        self.between_tokens = Distribution(TOKEN_BOUNDS_S)
        self.whole_request = Distribution(WAIT_BOUNDS_S)
        self._clock = clock

    def sent(self, link: str, msg: Message) -> None:
        if isinstance(msg, TokenizeMsg):
            now = self._clock()
            self.waiting[msg.uid] = UnderWay(now, now)
        elif isinstance(msg, AbortMsg) and self._take(msg.uid) is not None:
            self.ended["abort"] += 1

    def received(self, link: str, msgs: list[Single]) -> None:
        now = self._clock()
        for msg in msgs:
            if isinstance(msg, UserReply):
                self._reply(msg, now)
            elif isinstance(msg, ErrorReply) and self._take(msg.uid) is not None:
                self.ended["error"] += 1

    def overdue(self, first_token_s: float, whole_s: float) -> tuple[list[int], list[int]]:
        """Requests without a token for ``first_token_s``, and others without an end for ``whole_s``."""
        now = self._clock()
        first = [uid for uid, life in self.waiting.items() if now - life.begun >= first_token_s]
        lives = [*self.waiting.items(), *self.running.items()]
        whole = [uid for uid, life in lives if now - life.begun >= whole_s]
        return first, [uid for uid in whole if uid not in first]

    def replies(self, uid: int) -> int:
        """How many have come for a request that is under way; 0 for any other."""
        life = self.running.get(uid)
        return 0 if life is None else life.tokens

    def _reply(self, reply: UserReply, now: float) -> None:
        life = self.running.get(reply.uid)
        if life is None:
            life = self.waiting.pop(reply.uid, None)
            if life is None:
                return  # late
            self.running[reply.uid] = life
            self.first_token.add(now - life.begun)
        else:
            self.between_tokens.add(now - life.last)
        life.last = now
        life.tokens += 1
        self.generation_tokens += 1
        if reply.finished:
            del self.running[reply.uid]
            self._finished(reply, life, now)

    def _finished(self, reply: UserReply, life: UnderWay, now: float) -> None:
        self.ended[reply.finish_reason or "stop"] += 1
        self.whole_request.add(now - life.begun)
        if reply.usage is not None:
            self.prompt_tokens += reply.usage.prompt_tokens
            self.cached_tokens += reply.usage.cached_tokens
            # A reply is usually a token; now it is known.
            self.generation_tokens += max(0, reply.usage.completion_tokens - life.tokens)

    def _take(self, uid: int) -> UnderWay | None:
        return self.running.pop(uid, None) or self.waiting.pop(uid, None)
