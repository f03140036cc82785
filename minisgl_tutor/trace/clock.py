"""Virtual time: an asyncio event loop whose clock jumps to the next timer as soon as nothing else can run.

A play of a minute takes as long as its callbacks do, and two plays of the same inputs run the same callbacks
in the same order. Time is a whole number of microseconds, so that instants can be compared exactly.

What would be a hang becomes an error: waiting for what will never come (`Deadlock`), polling (`Livelock`) and
work given to a thread (`ThreadUsed`), whose end only real time could show.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import math
import selectors
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextvars import Context
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, Never, TypeVar, TypeVarTuple

from ..language import Sentence, joined

T = TypeVar("T")
Ts = TypeVarTuple("Ts")

TURNS_PER_INSTANT = 100_000


class Waiting(NamedTuple):
    """A pending task and the line that it waits at: the innermost one outside of asyncio's own files."""

    task: str
    module: str
    line: int
    function: str

    @property
    def sentence(self) -> Sentence:
        return Sentence("{task} waits at {module}:{line} in {function}", **self._asdict())

    def __str__(self) -> str:
        return str(self.sentence)


class VirtualTimeError(RuntimeError):
    """A run that cannot go on in virtual time. `waiting` lists the pending tasks, oldest first, and
    `sentence` says what is wrong without them.
    """

    def __init__(self, sentence: Sentence, waiting: Iterable[Waiting] = ()) -> None:
        self.sentence = sentence
        self.waiting = tuple(waiting)
        super().__init__(joined("\n  ", [sentence, *(each.sentence for each in self.waiting)]))


class Deadlock(VirtualTimeError):
    """Nothing can run, no timer is set, and somebody still waits."""


class Livelock(VirtualTimeError):
    """The loop turned very many times without time moving on: somebody polls."""


class ThreadUsed(VirtualTimeError):
    """Work was given to a thread, whose end virtual time cannot see."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """An event loop that starts at time 0 and never waits.

    Timers are rounded to the nearest microsecond, but a delay above zero moves time by one at least. Timers
    of one instant run in the order in which they were set. One at infinity never fires, and time never gets
    there. Sockets are never ready: links inside a virtual run are in memory. `turns` counts the loop's turns.
    """

    def __init__(self, turns_per_instant: int = TURNS_PER_INSTANT) -> None:
        super().__init__(_NeverBlocks(self._idle))
        self.turns = 0
        self._now_us = 0
        self._turns = 0
        self._turns_per_instant = turns_per_instant
        self._timers_set = 0
        self._tasks_made = 0
        # asyncio holds tasks weakly: one that nobody else knows may end whenever the garbage collector runs.
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._owner = threading.get_ident()
        self._intruder: str | None = None
        # Half a microsecond: however late it is, a timer of this instant is due and one of the next is not.
        self._clock_resolution = 5e-7

    def time(self) -> float:
        return self._now_us / 1e6

    def now_us(self) -> int:
        """Microseconds since the loop was made."""
        return self._now_us

    def block(self, us: int) -> None:
        """A call that keeps the thread for so long: time passes, and nothing else runs meanwhile."""
        self._now_us += us

    def pending(self) -> list[asyncio.Task[Any]]:
        """The tasks that have not ended, oldest first (`asyncio.all_tasks` has no order)."""
        return [task for task in self._tasks if not task.done()]

    def create_task(self, coro: Any, **kwargs: Any) -> asyncio.Task[Any]:
        if kwargs.get("name") is None:
            # asyncio's own numbers go on from run to run; these start with the loop.
            self._tasks_made += 1
            kwargs["name"] = f"Task-{self._tasks_made}"
        task = super().create_task(coro, **kwargs)
        self._tasks[task] = None
        task.add_done_callback(self._tasks.pop)
        return task

    def call_at(
        self, when: float, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        if when == math.inf:
            return asyncio.TimerHandle(when, callback, args, self, context)
        us = max(round(when * 1e6), self._now_us + (when > self.time()))
        self._timers_set += 1
        return super().call_at(_Instant(us / 1e6, self._timers_set), callback, *args, context=context)

    def run_in_executor(self, executor: object, func: Callable[..., object], *args: object) -> Never:
        raise ThreadUsed(
            Sentence("Work was given to a thread, which virtual time cannot see: do it in the loop.")
        )

    def call_soon_threadsafe(
        self, callback: Callable[[*Ts], object], *args: *Ts, context: Context | None = None
    ) -> asyncio.Handle:
        if threading.get_ident() == self._owner:
            return self.call_soon(callback, *args, context=context)
        # Raising here would only end that thread; the loop ends the run at its next turn.
        self._intruder = threading.current_thread().name
        return asyncio.Handle(callback, args, self, context)

    def _idle(self, timeout: float | None) -> None:
        """One turn: `timeout` is how long a real loop would sleep (0: something can run; None: for ever)."""
        self.turns += 1
        if self._intruder is not None:
            name, self._intruder = self._intruder, None
            raise ThreadUsed(
                Sentence(
                    "The thread {name} called into the loop, but virtual time cannot see a thread.", name=name
                )
            )
        if timeout is None:
            self._raise_deadlock()
        if timeout > 0:
            self._now_us += round(timeout * 1e6)
            self._turns = 0
            return
        self._turns += 1
        if self._turns > self._turns_per_instant:
            turns, self._turns = self._turns - 1, 0
            raise Livelock(
                Sentence(
                    "The loop turned {turns} times at {now} us and time did not move: something polls "
                    "instead of waiting.",
                    turns=turns,
                    now=self._now_us,
                ),
                map(_where, self.pending()),
            )

    def _raise_deadlock(self) -> Never:
        waiting = [_where(task) for task in self.pending()]
        if any(each.function.endswith(_ANYIO_THREAD) for each in waiting):
            raise ThreadUsed(
                Sentence(
                    "Work was given to a thread, which virtual time cannot see: routes, dependencies and the "
                    "generators of streamed answers must be async."
                ),
                waiting,
            )
        raise Deadlock(
            Sentence(
                "At {now} us nothing can run and no timer is set, but somebody still waits.", now=self._now_us
            ),
            waiting,
        )


def run(
    main: Callable[[*Ts], Coroutine[Any, Any, T]], *args: *Ts, turns_per_instant: int = TURNS_PER_INSTANT
) -> T:
    """Run `main(*args)` to its end on a fresh virtual-time loop and give its result.

    Tasks still pending then are cancelled, oldest first, and waited for; the loop is closed. Works in any
    thread that has no running loop, and leaves the process's event loop policy and signal handlers alone.
    Raises what `main` raises, or a `VirtualTimeError`.
    """
    loop = VirtualTimeLoop(turns_per_instant)
    gc.freeze()  # what is there before outlives the run: not to be looked through for garbage over and over
    try:
        return loop.run_until_complete(main(*args))
    finally:
        try:
            _cancel_leftovers(loop)
            loop.run_until_complete(loop.shutdown_asyncgens())
        finally:
            gc.unfreeze()
            loop.close()


def _cancel_leftovers(loop: VirtualTimeLoop) -> None:
    while leftovers := loop.pending():
        for task in leftovers:
            task.cancel()
        loop.run_until_complete(_ended(leftovers))
        for task in leftovers:
            if not task.cancelled() and (error := task.exception()) is not None:
                message = f"{task.get_name()} was left over and failed when it was cancelled"
                loop.call_exception_handler({"message": message, "exception": error, "task": task})


async def _ended(tasks: list[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


class _Instant(float):
    """A time that also knows how many timers were set before it: a heap keeps equal times in no order."""

    order: int

    def __new__(cls, seconds: float, order: int) -> _Instant:
        self = super().__new__(cls, seconds)
        self.order = order
        return self

    def __lt__(self, other: float) -> bool:
        if isinstance(other, _Instant) and float(self) == float(other):
            return self.order < other.order
        return float(self) < float(other)


class _NeverBlocks(selectors.SelectSelector):
    """Hands the time that it was asked to sleep to the loop, and reports that nothing is ready."""

    def __init__(self, idle: Callable[[float | None], None]) -> None:
        super().__init__()
        self._idle = idle

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._idle(timeout)
        return []


_ANYIO_THREAD = "run_sync_in_worker_thread"  # where a task waits whose work anyio gave to a thread
_ASYNCIO = str(Path(asyncio.__file__).parent)


def _where(task: asyncio.Task[Any]) -> Waiting:
    frames = list(_await_chain(task.get_coro()))
    ours = [frame for frame in frames if not frame.f_code.co_filename.startswith(_ASYNCIO)]
    if not frames:
        return Waiting(task.get_name(), "?", 0, "?")
    frame = (ours or frames)[-1]
    return Waiting(
        task.get_name(), str(frame.f_globals.get("__name__")), frame.f_lineno or 0, frame.f_code.co_qualname
    )


def _await_chain(awaitable: object) -> Iterator[FrameType]:
    """The frames of a suspended coroutine, outermost first, through generators and async generators."""
    while awaitable is not None:
        kind = next((kind for kind in ("cr", "ag", "gi") if hasattr(awaitable, f"{kind}_frame")), None)
        if kind is None:
            # The step of an async generator shows its generator to the garbage collector only.
            awaitable = next(filter(inspect.isasyncgen, gc.get_referents(awaitable)), None)
            continue
        frame = getattr(awaitable, f"{kind}_frame")
        if frame is not None:
            yield frame
        awaitable = getattr(awaitable, "gi_yieldfrom" if kind == "gi" else f"{kind}_await")
