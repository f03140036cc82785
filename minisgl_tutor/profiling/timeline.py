"""The timeline of one scheduler: at every moment it is in exactly one phase.

So the phases of a run add up to its time. What is between two watched calls counts
as the phase that the one before leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Literal, Protocol, get_args

Phase = Literal["idle", "receive", "schedule", "plan", "launch", "wait", "postprocess", "send"]
"""``idle`` waits for a message and ``wait`` for the engine; the others are work of the processor.

``plan`` prepares attention on the host and ``launch`` hands the rest of the step to the
engine. On a CPU that is where the model computes.
"""

PHASES: tuple[Phase, ...] = get_args(Phase)
WAITING: frozenset[Phase] = frozenset({"idle", "wait"})

Clock = Callable[[], int]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time in one phase, in nanoseconds since the start, for the step of that number.

    ``what`` says of a launch what is launched. ``hid_ns`` is how much of the processor's work
    before this wait was done while the engine computed the step that is waited for.
    """

    phase: Phase
    begin_ns: int
    end_ns: int
    step: int
    hid_ns: int = 0
    what: str = ""


class Sink(Protocol):
    """Where spans go."""

    def write(self, span: Span) -> None: ...

    def flush(self) -> None:
        """The scheduler has nothing to do: now is the time for slow work."""
        ...


class Timeline:
    """Is told of each change of phase, and gives the span that it ends to ``sink``."""

    def __init__(self, sink: Sink, clock: Clock = perf_counter_ns) -> None:
        self._sink = sink
        self._clock = clock
        self._start_ns = clock()
        self._phase: Phase = "idle"
        self._since_ns = 0
        self._step = 0
        self._hid_ns = 0
        self._what = ""
        self._worked_ns = 0
        self._counted_ns = 0
        self._launched_ns: dict[int, int] = {}

    def enter(self, phase: Phase, step: int, what: str = "") -> None:
        """From now on the scheduler is in ``phase``, for step ``step``."""
        now = self._clock() - self._start_ns
        span = Span(self._phase, self._since_ns, now, self._step, self._hid_ns, self._what)
        if self._phase not in WAITING:
            self._worked_ns += now - self._since_ns
        self._phase, self._since_ns, self._step, self._hid_ns, self._what = phase, now, step, 0, what
        if span.end_ns > span.begin_ns:
            self._sink.write(span)

    @contextmanager
    def within(self, phase: Phase) -> Iterator[None]:
        """A phase inside of the present one, which goes on behind it."""
        outer, what = self._phase, self._what
        self.enter(phase, self._step)
        try:
            yield
        finally:
            self.enter(outer, self._step, what)

    def launched(self, step: int) -> None:
        """The engine has step ``step``: work from now on may hide behind it."""
        self.enter("postprocess", step)
        self._launched_ns[step] = self._worked_ns

    def wait(self, step: int, running: bool) -> None:
        """The result of ``step`` is needed. If it is still ``running``, all work since its launch was hidden.

        If it is not, nobody knows how much was, and none is counted.
        """
        self.enter("wait", step)
        since = max(self._launched_ns.pop(step), self._counted_ns)
        if running:
            self._hid_ns = self._worked_ns - since
            self._counted_ns = self._worked_ns

    def idle(self) -> None:
        """There is nothing to do until a message comes."""
        self.enter("idle", self._step)
        self._sink.flush()
