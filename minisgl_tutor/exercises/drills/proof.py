"""Second parts: the reader writes a test, which right classes must pass and each faulty one fail.

The faulty classes are the wrong fixes of the first part, the right ones its solutions.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec
from msgspec.structs import replace

from ...resources import chapters_dir
from ...server.frontend import FrontendManager
from ...trace.clock import VirtualTimeError
from ..drill import Drill, Found, Reader, Say, in_virtual_time
from ..reader_file import load, the_class, the_function
from ..wire import Raised
from .bench import Bench

REJECTS, ACCEPTS = "rejects", "accepts"
RIGHT = "right-classes"


class Case(msgspec.Struct, frozen=True):
    """A class, by its file below the first part's folder. ``fails``: it is a faulty one."""

    check: str
    file: str
    fails: bool


class Outcome(msgspec.Struct):
    """Whether the test passed; else what it raised, if it came to its end at all."""

    passed: bool
    raised: Raised | None = None


class ProofDrill(Drill[Case, Case, Outcome]):
    """``first_part`` is the folder, ``function`` the test's name, ``mutants`` the faulty files by check."""

    first_part: ClassVar[str]
    function: ClassVar[str]
    mutants: ClassVar[Mapping[str, tuple[str, ...]]]

    job_type = Case
    seen_type = Outcome
    faults = (REJECTS, ACCEPTS)

    def __init_subclass__(cls) -> None:
        cls.checks = (RIGHT, *cls.mutants)

    def find(self, module: Any, file: str) -> Callable[..., Any]:
        return the_function(module, self.function, file)

    def cases(self, rng: random.Random) -> Sequence[Case]:
        folder = chapters_dir() / self.first_part / "solutions"
        right = [Case(RIGHT, f"solutions/{file.name}", False) for file in sorted(folder.glob("*.py"))]
        faulty = [
            Case(check, f"wrong/{name}.py", True) for check, names in self.mutants.items() for name in names
        ]
        rng.shuffle(faulty)
        return [*right, *faulty]

    def play(self, reader: Reader, job: Case) -> Outcome:
        path = chapters_dir() / self.first_part / job.file
        module = load(path)
        cls = the_class(module, FrontendManager, path.name)
        # The class is not to be known by its name.
        anonymous = type("Frontend", (cls,), {"__module__": __name__})
        ended: list[bool] = []
        failed: list[BaseException] = []

        async def main() -> None:
            try:
                result = reader.found(Bench(anonymous, module))
                if inspect.isawaitable(result):
                    await result
            except BaseException as error:  # cancelled, if it waits for what never comes
                failed.append(error)
                raise
            ended.append(True)

        try:
            in_virtual_time(main)
        except Exception as error:
            if not ended:  # what comes behind the test's end is the class's
                return Outcome(False, _told(reader, error, failed))
        return Outcome(bool(ended))

    def judge(self, case: Case, seen: Outcome) -> Iterator[Found]:
        if case.fails and seen.passed:
            yield Found(ACCEPTS)
        elif not case.fails and not seen.passed:
            yield Found(REJECTS, seen.raised.values() if seen.raised else {"text": "", "line": 0})

    def check_of(self, case: Case, fault: str) -> str:
        return case.check

    def in_words(self, case: Case, say: Say) -> str:
        if not case.fails:
            return say("right")
        return say("faulty", number=1 + self._place(case), of=len(self.mutants[case.check]))

    def size(self, case: Case) -> tuple[int, ...]:
        return (self._place(case),) if case.fails else ()

    def _place(self, case: Case) -> int:
        return self.mutants[case.check].index(case.file.rpartition("/")[2].removesuffix(".py"))


def _told(reader: Reader, error: BaseException, failed: Sequence[BaseException]) -> Raised:
    """What ended the test, and at which of its lines. A task of the class may have raised before it did.

    ``failed``: what passed through the test.
    """
    own = reader.raised(failed[0] if failed else error)
    if not isinstance(error, VirtualTimeError):
        return own
    told = reader.raised(error)
    return replace(told, line=told.line or own.line)


class RoutingProof(ProofDrill):
    """Chapter 5, exercise 5, second part."""

    first_part = "05-http-service/exercises/exercise-5"
    function = "test_routing"
    mutants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "misrouted": ("round_robin", "to_the_newest", "to_everybody"),
        "kept-at-end": ("one_map_alone", "other_map_alone", "cleans_up_later", "queues_stay"),
        "kept-on-leave": ("aborts_and_keeps", "queues_of_leavers_stay"),
        "too-early": ("deleted_at_the_finished_reply",),
        "others-suffer": ("empties_both_maps",),
        "late-replies": ("no_guard", "late_replies_revive"),
        "aborts": ("never_aborts", "aborts_all_that_end", "aborts_the_others"),
    }


class LifecycleProof(ProofDrill):
    """Chapter 5, exercise 7, second part."""

    first_part = "05-http-service/exercises/exercise-7"
    function = "test_lifecycle"
    mutants: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "end-streaming": (
            "close_alone",
            "finally_alone",
            "only_event_map",
            "delete_later",
            "moved_maps",
            "by_finalizer",
        ),
        "end-whole": ("whole_answers_forgotten", "streams_close_whole_answers_do_not"),
        "finished-then-more": ("breaks_removed",),
        "text": ("drops_the_last_piece", "delete_in_listen"),
        "leave-streaming": (
            "never_aborts",
            "abort_later",
            "drops_before_it_asks",
            "exceptions_alone",
            "own_list_of_aborted",
            "aborts_twice",
        ),
        "leave-whole": ("blind_collect",),
        "write-fails": ("cancel_alone",),
        "send-fails": ("unsent_forgotten",),
        "abort-meets-end": ("unguarded_del",),
        "no-abort": ("aborts_everything",),
        "late-replies": ("late_replies_kill", "late_replies_revive"),
        "neighbours": ("clears_everything",),
    }
