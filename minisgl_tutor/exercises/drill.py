"""What an exercise tries: cases for a reader's file to be played by, and the judgement of what was seen.

A drill has two halves in two processes. The child loads the reader's file
(``find``) and plays jobs with it (``play``); it judges nothing. The checker
makes the cases (``cases``, ``job``) and judges what came back (``judge``),
so that nothing in a reader's file can reach the verdict.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar, Generic, TypeVar

import msgspec

from ..recording import Recording
from ..trace.clock import VirtualTimeError, run
from .reader_file import classes_of, raised
from .unhandled import Unhandled
from .wire import Raised

C = TypeVar("C")
"""A case, known to the checker alone."""
J = TypeVar("J")
"""A job: what of the case crosses to the child. A msgspec struct."""
S = TypeVar("S")
"""What was seen. A msgspec struct."""

Say = Callable[..., str]
"""The sentence of a key, filled in with named values, in the reader's language."""

STUCK, POLLS, BLOCKS, THREAD = "stuck", "polls", "blocks", "thread"
RAISED, NEVER_ENDS = "raised", "never-ends"

GENERAL = (STUCK, POLLS, BLOCKS, THREAD, RAISED, NEVER_ENDS)
"""Faults that any reader's file can have. What the clock, the sandbox or Python finds becomes one of them."""

TURNS = 2_000
"""Turns of the loop at one instant that are taken for polling; a play needs some tens."""


class CheckFailed(Exception):
    """The check could not be made, through no fault of the reader's: one ``Sentence``."""


class ReaderRaised(Exception):
    """The reader's code raised something of which only what is told is left."""

    def __init__(self, raised: Raised) -> None:
        super().__init__(raised.kind)
        self.raised = raised


class Found(msgspec.Struct, frozen=True):
    """Something wrong in a case. ``values`` fill in the sentences that tell it.

    ``client`` and ``t_us`` say where in the case's recording it shows, if it has one.
    """

    fault: str
    values: dict[str, Any] = {}
    client: int = 0
    t_us: int = 0


@dataclass(frozen=True)
class Reader:
    """The reader's file in the child. ``found`` is what the drill looked for in it.

    ``path`` and ``module`` are null when the project's own class plays.
    """

    found: Any
    path: Path | None = None
    module: ModuleType | None = None

    @property
    def classes(self) -> list[type]:
        """Those of the file that stand in for components of the server."""
        if self.module is None or self.path is None:
            return []
        return classes_of(self.module, self.path.name)

    def raised(self, error: BaseException) -> Raised:
        """The exception, and the line of the reader's file that it passed through."""
        return error.raised if isinstance(error, ReaderRaised) else raised(error, self.path)


class Drill(ABC, Generic[C, J, S]):
    """One exercise's. ``checks`` are the names of what is tried, in the order of the report.

    ``faults`` orders what can be wrong, roots before consequences: the report
    tells the first. Those of ``GENERAL`` come before the drill's own unless it
    names them.
    """

    job_type: ClassVar[Any]
    seen_type: ClassVar[Any]
    checks: ClassVar[tuple[str, ...]]
    faults: ClassVar[tuple[str, ...]] = ()

    # -- in the child

    def prepare(self) -> None:
        """Loads what plays need, before the reader's file is looked at and memory is counted."""

    @abstractmethod
    def find(self, module: ModuleType, file: str) -> Any:
        """What is to be judged in the reader's module.

        Raises:
            ReaderFileError: it is not there, or there are several.
        """

    @abstractmethod
    def play(self, reader: Reader, job: J) -> S:
        """Plays one job and tells what was seen.

        What it raises counts as raised by the reader's code: ``raised``, or one of the
        other general faults if the virtual clock raised it.
        """

    # -- in the checker

    @abstractmethod
    def cases(self, rng: random.Random) -> Sequence[C]:
        """What is tried, the simplest first; the random ones, last, depend on ``rng`` alone."""

    def job(self, case: C) -> J:
        """What the child is given of the case."""
        return case  # type: ignore[return-value]

    @abstractmethod
    def judge(self, case: C, seen: S) -> Iterator[Found]:
        """All that is wrong."""

    @abstractmethod
    def check_of(self, case: C, fault: str) -> str:
        """The check that a fault of this case belongs to."""

    @abstractmethod
    def in_words(self, case: C, say: Say) -> str:
        """The case, for the report."""

    def size(self, case: C) -> tuple[int, ...]:
        """For choosing the shortest case among those that show the same. The first of equals is taken."""
        return ()

    def smaller(self, case: C) -> Iterable[C]:
        """Cases that differ in one thing and are easier to follow, the boldest step first."""
        return ()

    def recording(self, case: C) -> tuple[Recording, str] | None:
        """A recording that shows the case to ``trace``, and the ASGI version to play it under."""
        return None


def in_virtual_time(main: Callable[[], Coroutine[Any, Any, S]]) -> S:
    """Runs a coroutine function under the virtual clock, which finds deadlocks and polling.

    Raises:
        Deadlock, Livelock, ThreadUsed: it found one.
        Exception: the reader's code raised it where nobody waited for it; what follows is its doing.
    """
    unhandled = Unhandled()

    async def watched() -> S:
        unhandled.watch()
        try:
            return await main()
        finally:
            unhandled.conclude()

    try:
        seen = run(watched, turns_per_instant=TURNS)
    except BaseException as error:
        raise unhandled.first or _first(error) from None
    if unhandled.first is not None:
        raise unhandled.first
    return seen


def _first(error: BaseException) -> BaseException:
    """The virtual clock's own error, if it is what began it: tidying up after it may have failed as well."""
    found, each = error, error.__context__
    while each is not None:
        if isinstance(each, VirtualTimeError):
            found = each
        each = each.__context__
    return found


def general_fault(raised: Raised) -> str:
    """The fault that an exception amounts to."""
    kinds = {"Livelock": POLLS, "ThreadUsed": THREAD, "Deadlock": NEVER_ENDS}
    return kinds.get(raised.kind, RAISED)
