"""The stage: the server's own components in one process, on links in memory and a virtual clock.

    client ──> app/FrontendManager ──> TokenizeWorker ──> Scheduler ──> engine
       ^               ^───────────── TokenizeWorker <──────┘

Only links, clock and engine differ from ``serve``. The stage moves messages,
lets each worker run a round when something has come for it, and lets a
scheduler's round take the time that its engine says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Protocol

from fastapi import FastAPI

from ..engine.base import Engine, EngineInfo, ForwardBatch, ForwardOutput, Logprobs
from ..links import MemoryAsyncPull, MemoryAsyncPush, MemoryChannel, MemoryPull, MemoryPush
from ..message import Message
from ..recording import ForkLine
from ..server.api_server import Stamp, create_app
from ..server.build import build_frontend, build_scheduler, build_tokenize_worker
from ..server.config import ServerArgs
from ..server.openai.bulk import BulkBodies, look_here
from ..tokenizer.load import Tokenizer
from .clock import VirtualTimeLoop
from .steps import Held, Step, code_location
from .tracer import FRONT, Tracer

LINK_US = 20
"""How long a message takes on a link where the recording does not say."""

OVERTAKEN_US = 100_000
"""How long a message waits to be overtaken, if a fork says that it is."""

IDLE_ROUNDS = 8
"""Rounds in a row that do nothing, one of which may have made room for the next. A gap, or a class of a
reader's, can keep the scheduler busy with what will never run.
"""


class PacedEngine(Engine, Protocol):
    """An engine that knows how long its steps take."""

    read_until_us: int

    def next_event_us(self) -> int | None: ...


class Component(Protocol):
    def held(self) -> dict[int, dict[str, int]]: ...


class TracedOutput:
    """Notes in the step of its call when its tokens were read."""

    def __init__(self, output: ForwardOutput, read: Callable[[], None]) -> None:
        self._output = output
        self._read = read

    def next_tokens(self) -> list[int]:
        tokens = self._output.next_tokens()
        self._read()
        return tokens

    def logprobs(self) -> Logprobs:
        return self._output.logprobs()


class TracedEngine:
    """Notes each call of the scheduler, which is a plain call in the same process and no message (C2.88)."""

    def __init__(self, engine: PacedEngine, tracer: Tracer) -> None:
        self._engine = engine
        self._tracer = tracer

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    def forward_batch(self, batch: ForwardBatch) -> ForwardOutput:
        computed = (batch.seq_lens - batch.cached_lens).tolist()
        content = [
            {"type": batch.phase, "uid": uid, "computed": count, "length": length}
            for uid, count, length in zip(batch.uids, computed, batch.seq_lens.tolist(), strict=True)
        ]
        step = self._tracer.new_step(
            "call", "scheduler", "engine", "forward_batch", list(batch.uids), content, code_location()
        )
        self._tracer.enter(step)
        output = self._engine.forward_batch(batch)
        return TracedOutput(output, lambda: self._tracer.read(step, self._engine.read_until_us))

    def close(self) -> None:
        self._engine.close()


class Stage:
    """Wires the components.

    ``arrival`` tells when a message reaches the scheduler or the front end, and its rank
    among those of that time, or null for the usual time of a link. ``on_step`` is told
    of each step, ``after_round`` when the scheduler has gone through a round.
    ``classes`` take the place of the components that they derive from. ``fate`` is
    asked once for each message that leaves: what a fork of the run does to it.
    """

    def __init__(
        self,
        args: ServerArgs,
        served_model: str,
        tokenizer: Tokenizer,
        eos_token_ids: frozenset[int],
        engine: PacedEngine,
        stamp: Stamp,
        arrival: Callable[[Message], tuple[int, int] | None] = lambda msg: None,
        on_step: Callable[[Step], None] = lambda step: None,
        classes: Sequence[type] = (),
        after_round: Callable[[], None] = lambda: None,
        fate: Callable[[Step], ForkLine | None] = lambda step: None,
    ) -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        self.loop = loop
        self.engine = engine
        self.tracer = Tracer(loop.now_us, self.held, on_step)
        self._arrival = arrival
        self._after_round = after_round
        self._fate = fate
        self._overtaken: dict[tuple[str, str], tuple[MemoryChannel, bytes, Step]] = {}  # by link
        self._due: dict[tuple[str, str], int] = {}  # by link, when its last message on the way gets there
        self._held_back: list[tuple[MemoryChannel, bytes, Step, Message]] | None = None
        self._landed: list[tuple[int, MemoryChannel, bytes, Step]] = []  # at the scheduler's door, by rank
        self._work = asyncio.Event()
        self._idle_rounds = 0
        self.scheduler_over = False

        names = [f"tokenizer-{i}" for i in range(args.num_tokenizer)]
        self._front_inbox = MemoryChannel(f">{FRONT}", self.tracer, on_arrival=self._front_arrival)
        self._scheduler_inbox = MemoryChannel(">scheduler", self.tracer)
        self._worker_inboxes = {
            name: MemoryChannel(f">{name}", self.tracer, on_arrival=partial(self._run_worker, name))
            for name in (*names, "detokenizer")
        }
        self.workers = {
            name: build_tokenize_worker(
                args,
                tokenizer,
                MemoryPull(inbox),
                MemoryPush(self._channel(name, self._scheduler_inbox)),
                MemoryPush(self._channel(name, self._front_inbox)),
                classes,
            )
            for name, inbox in self._worker_inboxes.items()
        }
        self.scheduler = build_scheduler(
            args,
            TracedEngine(engine, self.tracer),
            eos_token_ids,
            MemoryPull(self._scheduler_inbox),
            MemoryPush(self._channel("scheduler", self._worker_inboxes["detokenizer"])),
            classes,
        )
        self.frontend = build_frontend(
            args,
            self._front_links(names or ["detokenizer"]),
            MemoryAsyncPull(self._front_inbox),
            classes,
        )
        bulk = BulkBodies(args.limits.max_prompt_chars, look_here)
        self.app: FastAPI = create_app(
            self.frontend, served_model, stamp, limits=args.limits, examine=bulk.examine
        )

        self._components: dict[str, Component] = {
            FRONT: self.frontend,
            "scheduler": self.scheduler,
            **self.workers,
        }
        self._held: Held = {name: {} for name in self._components}
        self._running = FRONT  # where no other has a round
        self._have_run = set(self._components)  # since they were asked

    # -- what everybody holds

    @property
    def components(self) -> list[Component]:
        return list(self._components.values())

    def held(self) -> Held:
        """Not to be changed: what is as it was the last time is the same object."""
        for name in self._have_run:
            held = self._components[name].held()
            if held != self._held[name]:
                self._held = {**self._held, name: held}
        self._have_run = {self._running}
        return self._held

    @contextmanager
    def _round_of(self, name: str) -> Iterator[None]:
        """Only a component that runs changes what it holds."""
        self._running = name
        self._have_run.add(name)
        try:
            yield
        finally:
            self._running = FRONT
            self._have_run.add(FRONT)

    @property
    def quiet(self) -> bool:
        """No message is on its way and the scheduler has nothing to do."""
        now = self.loop.now_us()
        under_way = self._overtaken or any(due > now for due in self._due.values())
        return (self.scheduler_over or self._at_rest) and not under_way

    @property
    def _at_rest(self) -> bool:
        """Until something comes, a further round of the scheduler's would do nothing."""
        return not self.scheduler.busy or self._idle_rounds > IDLE_ROUNDS

    # -- links

    def _front_links(self, names: Sequence[str]) -> list[MemoryAsyncPush]:
        return [MemoryAsyncPush(self._channel(FRONT, self._worker_inboxes[name])) for name in names]

    def _channel(self, source: str, inbox: MemoryChannel) -> MemoryChannel:
        return MemoryChannel(f"{source}{inbox.name}", self.tracer, carry=self._carry, into=inbox)

    def _carry(self, channel: MemoryChannel, frame: bytes) -> None:
        step, msg = self.tracer.take_sent()
        if self._held_back is not None:
            self._held_back.append((channel, frame, step, msg))
        else:
            self._dispatch(channel, frame, step, msg)

    def _dispatch(self, channel: MemoryChannel, frame: bytes, step: Step, msg: Message) -> None:
        self.tracer.enter(step)
        now = self.loop.now_us()
        fate = self._fate(step)
        if fate is not None and fate.action == "drop":
            return
        link = (step.source, step.target)  # only one link keeps an order: another one may be faster
        if fate is not None and fate.action == "reorder" and link not in self._overtaken:
            self._overtaken[link] = channel, frame, step
            self.loop.call_later(OVERTAKEN_US / 1e6, self._deliver_overtaken, link, step)
            return
        usual = (max(now + LINK_US, self._due.get(link, 0)), 0)
        due, rank = (self._arrival(msg) if step.target in ("scheduler", FRONT) else None) or usual
        due = max(due, now) + (fate.us if fate is not None else 0)
        self._due[link] = max(due, self._due.get(link, 0))
        self.loop.call_at(due / 1e6, self._deliver, rank, channel, frame, step)
        if link in self._overtaken:
            self.loop.call_at(due / 1e6, self._deliver, rank, *self._overtaken.pop(link))

    def _deliver_overtaken(self, link: tuple[str, str], step: Step) -> None:
        """Nothing came that could overtake it."""
        if link in self._overtaken and self._overtaken[link][2] is step:
            self._deliver(0, *self._overtaken.pop(link))

    def _deliver(self, rank: int, channel: MemoryChannel, frame: bytes, step: Step) -> None:
        if step.target == "scheduler":
            self._landed.append((rank, channel, frame, step))
            self._work.set()
        else:
            self._arrive(channel, frame, step)

    def _arrive(self, channel: MemoryChannel, frame: bytes, step: Step) -> None:
        self.tracer.on_the_way(step)
        channel.arrive(frame)

    # -- workers

    def _front_arrival(self) -> None:
        # The listener, woken first, files the reply; then the state is looked at; then consumers wake.
        self.loop.call_soon(self.tracer.settle)

    def _run_worker(self, name: str) -> None:
        with self._round_of(name):
            self.workers[name].round(blocking=False)
            self.tracer.settle()

    async def drive_scheduler(self) -> None:
        """Rounds until ``scheduler_over``: at once when something comes for an idle scheduler, else by the
        engine's steps.
        """
        while not self.scheduler_over:
            if self._at_rest and not self._landed:
                self._work.clear()
                await self._work.wait()
            in_flight, before = self.scheduler.last_data is not None, self.tracer.count
            await self._until(self._next_round_us())
            landed, self._landed = sorted(self._landed, key=lambda each: each[0]), []
            for _, channel, frame, step in landed:
                self._arrive(channel, frame, step)
            self._held_back = []
            with self._round_of("scheduler"):
                self.scheduler.round()
                self.tracer.settle()
            self._after_round()
            in_flight = in_flight or self.scheduler.last_data is not None
            did_something = in_flight or landed or self.tracer.count > before
            self._idle_rounds = 0 if did_something else self._idle_rounds + 1
            sent, self._held_back = self._held_back, None
            await self._until(self.engine.read_until_us)
            for channel, frame, step, msg in sent:
                self._dispatch(channel, frame, step, msg)

    def _next_round_us(self) -> int:
        now = self.loop.now_us()
        event = self.engine.next_event_us() if self.scheduler.busy else None
        if event is None:
            return now
        arrivals = [due for link, due in self._due.items() if link[1] == "scheduler" and due > now]
        return min([event, *arrivals])

    async def _until(self, us: int) -> None:
        if us > self.loop.now_us():
            await asyncio.sleep((us - self.loop.now_us()) / 1e6)
