"""Turns what moves on the stage into steps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import msgspec

from ..language import NOTHING, Sentence
from ..message import Message, Single, unwrap
from ..recording import RequestLine
from .asgi import ClientEvent, Exchange
from .steps import Held, Kind, Location, Step, code_location

FRONT = "api"


class Tracer:
    """Sees each hop as an observer of the links, and keeps the steps.

    ``now_us`` is the clock and ``held`` asks every component what it holds.
    ``on_step`` is told of each step once it is entered, and ``on_over`` of a message
    that was dealt with and of a call whose tokens were read. Steps may be taken off
    the list ``steps``; ``count`` counts those as well.
    """

    def __init__(
        self, now_us: Callable[[], int], held: Callable[[], Held], on_step: Callable[[Step], None]
    ) -> None:
        self.steps: list[Step] = []
        self.count = 0
        self.on_over: Callable[[Step], None] = lambda step: None
        self._sending: tuple[Step, Message] | None = None
        self._now_us = now_us
        self._held = held
        self._on_step = on_step
        self._on_the_way: dict[str, deque[Step]] = {}
        self._unsettled: list[Step] = []

    # -- links

    def sent(self, link: str, msg: Message) -> None:
        source, _, target = link.partition(">")
        msgs = unwrap(msg)
        step = self.new_step(
            "message",
            source,
            target,
            title=type(msg).__name__,
            uids=_uids(msgs),
            content=[{"type": type(each).__name__, **msgspec.to_builtins(each)} for each in msgs],
            where=code_location(),
        )
        self._sending = (step, msg)

    def take_sent(self) -> tuple[Step, Message]:
        """The message that a link is about to carry; it becomes a step when it leaves (:meth:`enter`)."""
        assert self._sending is not None
        sending, self._sending = self._sending, None
        return sending

    def received(self, link: str, msgs: list[Single]) -> None:
        """Called in the receiver: the steps whose messages it has taken in are now being dealt with."""
        waiting = self._on_the_way.get(link.rpartition(">")[2], deque())
        count = 0
        while waiting and count < len(msgs):
            step = waiting.popleft()
            count += len(step.content)
            step.arrived_us = self._now_us()
            step.before = self._held()
            self._unsettled.append(step)

    def on_the_way(self, step: Step) -> None:
        """A message has reached the inbox of its target, which has yet to take it in."""
        self._on_the_way.setdefault(step.target, deque()).append(step)

    def settle(self) -> None:
        """What was taken in has been dealt with."""
        if self._unsettled:
            after = self._held()
            for step in self._unsettled:
                step.after = after
                self.on_over(step)
            self._unsettled.clear()

    def read(self, step: Step, at_us: int) -> None:
        """The tokens of a call were read."""
        step.ended_us = at_us
        self.on_over(step)

    # -- the list

    def new_step(
        self,
        kind: Kind,
        source: str,
        target: str,
        title: str,
        uids: list[int],
        content: list[dict[str, Any]] | None = None,
        where: list[Location] | None = None,
        note: Sentence = NOTHING,
    ) -> Step:
        return Step(
            0, self._now_us(), kind, source, target, title, uids, content or [], where or [], note=note
        )

    def enter(self, step: Step) -> Step:
        """Puts a step on the list, with the next number and the present time."""
        self.count += 1
        step.number = self.count
        step.t_us = self._now_us()
        step.before = step.after = self._held()
        self.steps.append(step)
        self._on_step(step)
        return step


def _uids(msgs: list[Single]) -> list[int]:
    return list(dict.fromkeys(msg.uid for msg in msgs))


def client_fields(request: RequestLine, exchange: Exchange, event: ClientEvent) -> dict[str, object]:
    """What a step says of what a client did or got."""
    match event.kind:
        case "request":
            return {"line": f"{request.method} {request.path}", "body": request.body}
        case "chunk":
            return {"text": event.data.decode(errors="replace")}
        case "completed":
            return {"status": exchange.status}
    return {"note": event.note} if event.note else {}
