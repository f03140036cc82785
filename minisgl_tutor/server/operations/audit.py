"""The live audit: who holds what for which request, since when, and what is left of requests that ended.

A request ends when its client has the whole answer, or has left: that is seen around the app and not
told by the front end, whose own mistake it may be that something stays. Until then its last reply may
wait for a slow client by right. Of requests that ended nothing should be held; what still is after
``RESIDUE_AFTER_S`` is residue. That may be a leak, or a step of the model that takes long.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from ...message import AbortMsg, ErrorReply, Message, Single, TokenizeMsg, UserReply

RESIDUE_AFTER_S = 1.0
LONGEST_LIST = 200
"""Requests in one report; residue comes first."""

State = Literal["waiting", "running", "answered", "ended"]


class Holding(msgspec.Struct, frozen=True):
    """So much of ``what`` is in ``component``, for ``since_s`` seconds at least."""

    component: str
    what: str
    amount: int
    since_s: float


class RequestHeld(msgspec.Struct, frozen=True):
    """A request that something is held for. Times are in seconds, up to the report.

    It is ``waiting`` until its first token, then ``running``; ``answered`` while the client still
    takes an answer that is complete, and then ``ended``. ``age_s`` is None if its beginning was not seen.
    """

    uid: int
    state: State
    age_s: float | None
    ended_s: float | None
    residue: bool
    held: list[Holding]


class ComponentHeld(msgspec.Struct, frozen=True):
    """A component said ``seen_s`` seconds ago that it holds something for so many requests.

    ``step_s`` is how long it had then been at one step of its work; 0 if it waited for some.
    """

    component: str
    requests: int
    seen_s: float
    step_s: float


class Report(msgspec.Struct, frozen=True):
    """What ``/debug/held`` says. ``requests``: residue first, then the oldest; at most ``LONGEST_LIST``."""

    model: str
    held_requests: int
    residue_requests: int
    components: list[ComponentHeld]
    requests: list[RequestHeld]


@dataclass(frozen=True)
class Look:
    """What a component held at the time ``taken``, and how long it had been at one step of its work."""

    taken: float
    held: Mapping[int, Mapping[str, int]]
    step_s: float = 0.0


@dataclass(eq=False)
class HttpRequest:
    """An HTTP request, with the requests that it became."""

    uids: list[int] = field(default_factory=list)


@dataclass(slots=True)
class _Life:
    begun: float | None
    has_token: bool = False
    is_answered: bool = False
    ended: float | None = None
    has_exchange: bool = False

    @property
    def state(self) -> State:
        if self.ended is not None:
            return "ended"
        if self.is_answered:
            return "answered"
        return "running" if self.has_token else "waiting"


class Audit:
    """Follows the requests on the links of the API process (``LinkObserver``) and in their exchanges.

    ``clock`` counts seconds, as that of the looks does.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lives: dict[int, _Life] = {}
        self._looks: dict[str, Look] = {}
        self._since: dict[str, dict[int, dict[str, float]]] = {}

    def sent(self, link: str, msg: Message) -> None:
        if isinstance(msg, TokenizeMsg):
            self._lives[msg.uid] = _Life(self._clock())
        elif isinstance(msg, AbortMsg):
            self._answered(msg.uid)

    def received(self, link: str, msgs: list[Single]) -> None:
        for msg in msgs:
            if not isinstance(msg, UserReply | ErrorReply):
                continue
            if (life := self._lives.get(msg.uid)) is not None:
                life.has_token = True
            if msg.finished:
                self._answered(msg.uid)

    def belongs(self, uid: int, exchange: HttpRequest) -> None:
        """``uid`` is a part of this exchange, and ends with it."""
        exchange.uids.append(uid)
        if (life := self._lives.get(uid)) is not None:
            life.has_exchange, life.ended = True, None

    def over(self, exchange: HttpRequest) -> None:
        """The client has its answers, or has left."""
        for uid in exchange.uids:
            self._end(uid)

    def look(self, looks: Mapping[str, Look]) -> None:
        """Takes in what each component held, by its name. To be called once a second or so."""
        since: dict[str, dict[int, dict[str, float]]] = {}
        held: set[int] = set()
        for component, look in looks.items():
            held |= look.held.keys()
            before, now = self._since.get(component, {}), since.setdefault(component, {})
            for uid, kept in look.held.items():
                known = before.get(uid, {})
                if known.keys() != kept.keys():
                    known = {what: known.get(what, look.taken) for what in kept}
                now[uid] = known
        for uid in held - self._lives.keys():  # forgotten after its end: something came later still
            self._lives[uid] = _Life(begun=None, ended=self._clock())
        self._since, self._looks = since, dict(looks)
        self._forget(held)

    def report(self, model: str) -> Report:
        """Who held what when it was last looked."""
        now = self._clock()
        held: set[int] = set()
        residue: set[int] = set()
        for look in self._looks.values():
            held |= look.held.keys()
            for uid in look.held:
                ended = self._lives[uid].ended
                if ended is not None and look.taken - ended > RESIDUE_AFTER_S:
                    residue.add(uid)
        shown = [*sorted(residue), *sorted(held - residue)][:LONGEST_LIST]
        return Report(
            model,
            len(held),
            len(residue),
            [
                ComponentHeld(name, len(look.held), _span(look.taken, now), round(look.step_s, 3))
                for name, look in self._looks.items()
            ],
            [self._request(uid, uid in residue, now) for uid in shown],
        )

    def _request(self, uid: int, residue: bool, now: float) -> RequestHeld:
        life = self._lives[uid]
        held = [
            Holding(component, what, amount, _span(self._since[component][uid][what], now))
            for component, look in self._looks.items()
            for what, amount in look.held.get(uid, {}).items()
        ]
        age_s = None if life.begun is None else _span(life.begun, now)
        ended_s = None if life.ended is None else _span(life.ended, now)
        return RequestHeld(uid, life.state, age_s, ended_s, residue, held)

    def _answered(self, uid: int) -> None:
        if (life := self._lives.get(uid)) is not None:
            life.is_answered = True
            if not life.has_exchange:  # it was given up before it had one
                self._end(uid)

    def _end(self, uid: int) -> None:
        if (life := self._lives.get(uid)) is not None and life.ended is None:
            life.ended = self._clock()

    def _forget(self, held: set[int]) -> None:
        """Those that nobody holds, once each component has been looked at long enough after their end."""
        if not self._looks:
            return
        before = min(look.taken for look in self._looks.values()) - RESIDUE_AFTER_S
        over = [
            uid
            for uid, life in self._lives.items()
            if life.ended is not None and life.ended < before and uid not in held
        ]
        for uid in over:
            del self._lives[uid]


def _span(begin: float, end: float) -> float:
    return round(max(0.0, end - begin), 3)
