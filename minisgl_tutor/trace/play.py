"""Plays a recording: its clients act on the stage, and every step is noted and audited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ..gaps import GAPS
from ..language import Sentence
from ..message import Message, unwrap
from ..recording import Header, Recording, RequestLine
from ..scheduler.problems import IntegrityError
from ..tokenizer.tokenizer import Tokenizer
from .answers import AnswerAuditor
from .asgi import AsgiClient, ClientEvent, Exchange
from .auditor import Auditor, Finding
from .clock import VirtualTimeError, VirtualTimeLoop, run
from .endings import Endings
from .feed import Feed
from .interventions import Interventions, carry_out
from .plan import UNKNOWN, Plan
from .recorded_server import max_len, server_args
from .stage import Component, Stage
from .steps import Held, Step, code_location
from .tracer import FRONT, client_fields
from .wire import WireAuditor

QUIET_US = 500_000
"""A request that ended is audited when nothing has moved for this long."""

PATIENCE_US = 3_600_000_000
"""No play goes on for longer than this after the recording's end, in virtual time."""

_rid: ContextVar[int] = ContextVar("rid")
"""The recording's request that the running task serves."""


@dataclass
class Play:
    """What came of a play. ``exchanges`` are by the recording's request; ``uids`` map those to uids, to that
    of the first of several choices; ``beyond`` counts tokens past the recorded end by uid; ``count`` counts
    all steps, kept or not; ``held`` is what the components hold at the end.
    """

    header: Header
    gaps: tuple[str, ...]
    steps: list[Step] = field(default_factory=list)
    count: int = 0
    findings: list[Finding] = field(default_factory=list)
    exchanges: dict[int, Exchange] = field(default_factory=dict)
    uids: dict[int, int] = field(default_factory=dict)
    beyond: dict[int, int] = field(default_factory=dict)
    held: Held = field(default_factory=dict)


def play(
    recording: Recording,
    tokenizer: Tokenizer,
    gaps: Iterable[str] = (),
    *,
    classes: Sequence[type] = (),
    spec_version: str = "2.3",
    on_step: Callable[[Step], None] = lambda step: None,
) -> Play:
    """Plays ``recording`` on the stage, under ``gaps``, and returns every step.

    ``classes`` take the place of the components that they derive from.
    The same recording, gaps and classes give the same steps, byte for byte.

    Raises:
        Deadlock, Livelock: the components, or a class given in their place, hang.
    """
    player = Player(recording, tokenizer, tuple(gaps), classes, spec_version, on_step)
    return run(player.play)


def stream(
    recording: Recording,
    tokenizer: Tokenizer,
    gaps: Iterable[str],
    give: Callable[[Step], None],
    *,
    classes: Sequence[type] = (),
    spec_version: str = "2.3",
) -> Play:
    """Plays ``recording`` as :func:`play` does, and keeps no step and no exchange that is over.

    ``give`` gets each step, in order, once nothing about it will change any more.

    Raises:
        Deadlock, Livelock: the components, or a class given in their place, hang.
        Exception: what ``give`` raised.
    """
    player = Player(recording, tokenizer, tuple(gaps), classes, spec_version, lambda step: None, give)
    return run(player.play)


class Player:
    """One play. See :func:`play`."""

    def __init__(
        self,
        recording: Recording,
        tokenizer: Tokenizer,
        gaps: tuple[str, ...],
        classes: Sequence[type],
        spec_version: str,
        on_step: Callable[[Step], None],
        give: Callable[[Step], None] | None = None,
    ) -> None:
        self.result = Play(recording.header, gaps)
        self._plan = Plan(recording, same_gaps=set(gaps) == set(recording.header.gaps))
        self._tokenizer = tokenizer
        self._classes = classes
        self._forks = Interventions(self._plan.forks)
        self._may_be_wrong = bool(gaps or classes or self._plan.forks)
        self._spec_version = spec_version
        self._on_step = on_step
        self._give = give
        self._feed: Feed | None = None
        self._auditor = Auditor(recording.header.backlog_limit)
        self._answers = AnswerAuditor(tokenizer, max_len(recording.header))
        self._wire = WireAuditor()
        self._uids: dict[int, list[int]] = {}  # of this play, by request
        self._recorded: dict[int, int] = {}  # those of the recording, by uid
        self._tokens: dict[int, int] = {}  # the index of the last one that each was given
        self._pending = len(self._plan.requests)
        self._error: Exception | None = None

    async def play(self) -> Play:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self._loop = loop
        loop.set_exception_handler(self._on_error)
        header = self.result.header
        engine = self._engine = self._plan.engine(self._recorded_uid, loop.now_us)
        self._stage = Stage(
            server_args(header, self.result.gaps),
            header.served_model,
            self._tokenizer,
            frozenset(header.eos_token_ids),
            engine,
            self._stamp,
            self._arrival,
            self._entered,
            self._classes,
            self._after_round,
            self._forks.fate,
        )
        self._endings = Endings(self._plan, self._stage, self._recorded)
        self.result.steps = self._stage.tracer.steps
        if self._give is not None:
            self._feed = Feed(self.result.steps, self._give)
            self._stage.tracer.on_over = self._feed.over
        for request in self._plan.requests:
            loop.call_at(self._plan.sent_us(request) / 1e6, self._send, request)
        driver = loop.create_task(self._stage.drive_scheduler(), name="scheduler")
        await self._until_quiet(driver)
        driver.cancel()
        await asyncio.gather(driver, return_exceptions=True)
        if not self._may_be_wrong:
            self._stage.scheduler.check_integrity()
        if self._feed is not None:
            self._feed.end()
        self.result.count = self._stage.tracer.count
        self.result.beyond = dict(engine.beyond)
        self.result.held = self._endings.left()
        return self.result

    @property
    def components(self) -> list[Component]:
        """Those that play, from the first step on."""
        return self._stage.components

    # -- clients

    def _send(self, request: RequestLine) -> None:
        self._pending -= 1
        client = AsgiClient(
            self._stage.app,
            spec_version=self._spec_version,
            high_water=self._plan.buffer(request.rid),
            observer=lambda exchange, event: self._client_event(request, exchange, event),
        )
        token = _rid.set(request.rid)
        try:
            self.result.exchanges[request.rid] = client.request(
                request.method,
                request.path,
                headers={"content-type": request.content_type} if request.content_type else {},
                body=request.body.encode(),
                reader=self._plan.reader(request.rid),
            )
        finally:
            _rid.reset(token)

    def _client_event(self, request: RequestLine, exchange: Exchange, event: ClientEvent) -> None:
        if event.kind in ("app returned", "status") or (event.kind == "chunk" and not event.data):
            return
        uids = self._uids.get(request.rid, [])
        if self._feed is not None and exchange.over:
            self.result.exchanges.pop(request.rid, None)
        for uid in uids:
            if event.kind == "left":
                self._auditor.client_left(uid, self._loop.now_us())
            if event.kind == "completed":
                self._auditor.client_answered(uid)
        inbound = event.kind in ("request", "left")
        source, target = ("client", FRONT) if inbound else (FRONT, "client")
        self._stage.tracer.enter(
            self._stage.tracer.new_step(
                "client",
                source,
                target,
                title=event.kind,
                uids=list(uids),
                content=[{"request": request.rid, **client_fields(request, exchange, event)}],
                where=[] if inbound else code_location(),
            )
        )

    def _stamp(self, uid: int) -> tuple[str, int]:
        return self._plan.stamps.get(self._recorded_uid(uid), (f"unrecorded{uid}", 0))

    def _recorded_uid(self, uid: int) -> int:
        return self._recorded[uid]

    def _arrival(self, msg: Message) -> tuple[int, int] | None:
        recorded = [(type(each), self._recorded.get(each.uid, UNKNOWN)) for each in unwrap(msg)]
        places = [self._plan.arrivals.get(key) for key in recorded]
        return max((place for place in places if place is not None), default=self._endings.arrival(msg))

    # -- steps

    def _entered(self, step: Step) -> None:
        if step.title == "TokenizeMsg":
            self._submitted(step.uids[0])
        self._mark_unrecorded(step)
        self._on_step(step)
        if self._feed is not None:
            self._feed.entered(step)
        for auditor in (self._auditor, self._answers, self._wire):
            for finding in auditor.watch(step):
                self._report(finding)
        for fork in self._forks.at(step):
            rid = fork.rid
            carry_out(fork, step, self._stage, self.result.exchanges.get(rid), self._uids.get(rid, []))

    def _mark_unrecorded(self, step: Step) -> None:
        """Says of a token past the recorded end that it is none of the recorded ones."""
        for message in step.content if step.kind == "message" and step.target == "detokenizer" else ():
            if message.get("next_token") is not None:
                uid = message["uid"]
                index = self._tokens[uid] = self._tokens.get(uid, -1) + 1
                if self._engine.is_beyond(uid, index):
                    message["not_recorded"] = True

    def _submitted(self, uid: int) -> None:
        rid = _rid.get()
        self.result.uids.setdefault(rid, uid)
        uids = self._uids.setdefault(rid, [])
        uids.append(uid)
        recorded = self._plan.uids.get(rid, [])
        # One that the recording does not have is no other one either.
        self._recorded[uid] = recorded[len(uids) - 1] if len(uids) <= len(recorded) else UNKNOWN - 1 - uid
        self._auditor.submitted(uid, self._plan.streams(rid))

    def _after_round(self) -> None:
        """Checks the books. Under a gap, or a class of a reader's, they may be wrong, and that is a finding;
        else it fails the play at its end.
        """
        self._endings.after_round()
        if not self._may_be_wrong:
            return
        try:
            self._stage.scheduler.check_integrity()
        except IntegrityError as error:
            for finding in self._auditor.books(error):
                self._report(finding)

    def _report(self, finding: Finding) -> None:
        self.result.findings.append(finding)
        step = self._stage.tracer.new_step(
            "gap", finding.component, "", finding.gap or "residue", [finding.uid], note=finding.note
        )
        step.gap, step.claims = finding.gap, list(finding.claims)
        step.content = [{"summary": gap.summary, "code": gap.code} for gap in GAPS if gap.name == finding.gap]
        self._stage.tracer.enter(step)

    async def _until_quiet(self, driver: asyncio.Task[None]) -> None:
        """Until every client has done what it does and nothing has moved for a while; then a last audit.

        Raises:
            VirtualTimeError: it does not get quiet.
            Exception: a component failed.
        """
        while self._loop.now_us() < self._plan.last_us + PATIENCE_US:
            before = self._stage.tracer.count
            await asyncio.sleep(QUIET_US / 1e6)
            if self._error is not None:
                raise self._error
            if self._feed is not None and self._feed.error is not None:
                raise self._feed.error
            if driver.done() and not self._stage.scheduler_over:
                self._scheduler_failed(driver)
                return
            if self._stage.tracer.count > before or not self._stage.quiet:
                continue
            self._audit()
            reading = any(exchange.reading for exchange in self.result.exchanges.values())
            if not (self._pending or reading) and self._loop.now_us() > self._plan.last_us:
                return
            # Whole periods, so that when something is audited does not depend on what was skipped.
            idle_us = (self._plan.next_us(self._loop.now_us()) or 0) - self._loop.now_us()
            await asyncio.sleep(max(0, idle_us // QUIET_US - 1) * QUIET_US / 1e6)
        raise VirtualTimeError(Sentence("An hour after the end of what was recorded, something still moves."))

    def _scheduler_failed(self, driver: asyncio.Task[None]) -> None:
        """Under a gap, or a class of a reader's, that is a finding, and the end.

        Raises:
            Exception: else, what the scheduler failed of.
        """
        error = driver.exception()
        assert error is not None
        if not self._may_be_wrong:
            raise error
        self._report(self._auditor.scheduler_failed(error))
        self._audit()

    def _on_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        # A callback that fails is a component that fails; of a task, its own owner is told.
        if "handle" in context and isinstance(context.get("exception"), Exception):
            self._error = self._error or context["exception"]
        else:
            loop.default_exception_handler(context)

    def _audit(self) -> None:
        held = self._endings.left()
        for uid in list(self._auditor.lives):
            for finding in self._auditor.audit(uid, held):
                self._report(finding)
