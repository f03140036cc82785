"""Judges a reader's file: plays an exercise's cases over it, and looks for the shortest that fails."""

from __future__ import annotations

import random
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ..language import ENGLISH, NOTHING, Sentence, Tongue, sentence_of
from ..recording import Recording
from .catalogue import Exercise
from .drill import BLOCKS, GENERAL, POLLS, STUCK, THREAD, CheckFailed, Drill, Found, general_fault
from .runner import WHOLE_S, ReaderStopped, Runner, TookTooLong, running
from .sentences import Teller
from .verdict import Failure, Report, Verdict
from .wire import Played, PlayJob, Steps, StepSeen, StepsJob
from .workspace import shown, unwritten

PATIENCE_S = 5.0
"""Once something is wrong, a file whose plays take this long is not played to the end."""

TRIES = 60
"""Cases that are tried to find a shorter one."""

NOT_TRACED = (STUCK, POLLS, THREAD)
"""What cannot be played to its end cannot be traced either."""

NO_TRACE = Sentence("a trace would not get to its end either")


@dataclass(frozen=True)
class Place:
    """Where a failing case's recording goes.

    ``program`` is how a reader starts the command that traces it, quoted for a shell.
    """

    failures: Path
    program: str = "minisgl-tutor"


@dataclass(frozen=True)
class Wrong:
    """Something found in a case, in the check that it belongs to."""

    check: str
    found: Found
    case: Any


def check(exercise: Exercise, file: Path, seed: int, place: Place, say: Tongue = ENGLISH) -> Verdict:
    """Judges the file. It runs in a child process, which is gone afterwards."""
    tell = exercise.teller(say)
    drill = exercise.drill()
    report = Report(exercise.name, drill.checks, tell)
    try:
        with running(file, exercise.key) as runner:
            return _Checking(exercise, drill, file, seed, place, runner, report, tell).verdict()
    except CheckFailed as error:
        return report.undecided(sentence_of(error))


def wrongs(drill: Drill[Any, Any, Any], case: Any, seen: Played) -> Iterator[Wrong]:
    """All that is wrong in a case that was played."""
    for found in _found(drill, case, seen):
        yield Wrong(drill.check_of(case, found.fault), found, case)


def _found(drill: Drill[Any, Any, Any], case: Any, seen: Played) -> Iterator[Found]:
    for blocked in seen.blocked:
        yield Found(BLOCKS, blocked.values())
    if seen.stopped is not None:
        yield Found(general_fault(seen.stopped), seen.stopped.values())
    else:
        yield from drill.judge(case, msgspec.msgpack.decode(seen.seen, type=drill.seen_type))


def first(drill: Drill[Any, Any, Any], found: list[Wrong]) -> Wrong:
    """What the report tells: by check, then by fault, then the shortest case."""
    faults = (*(each for each in GENERAL if each not in drill.faults), *drill.faults)

    def order(each: Wrong) -> tuple[object, ...]:
        return drill.checks.index(each.check), faults.index(each.found.fault), drill.size(each.case)

    return min(found, key=order)


def sentence(kind: str, found: Found, file: Path, tell: Teller) -> str:
    """What is ``expected``, or what was ``seen``, of a fault that was found in the reader's file."""
    values = dict(found.values)
    values["place"] = _place(file.name, values.get("line", 0), values.get("function", ""))
    for name, value in values.items():
        if isinstance(value, list):
            values[name] = tell("comma").join(map(str, value))
    how = f"{kind} {found.fault} {values.get('what', '')}"
    return tell(how if tell.knows(how) else f"{kind} {found.fault}", **values)


class _Checking:
    def __init__(
        self,
        exercise: Exercise,
        drill: Drill[Any, Any, Any],
        file: Path,
        seed: int,
        place: Place,
        runner: Runner,
        report: Report,
        tell: Teller,
    ) -> None:
        self._exercise = exercise
        self._drill = drill
        self._file = file
        self._seed = seed
        self._place = place
        self._runner = runner
        self._report = report
        self._tell = tell
        self._say = tell.say
        self._played: list[Any] = []

    def verdict(self) -> Verdict:
        found: list[Wrong] = []
        planned = list(self._drill.cases(random.Random(self._seed)))
        begun = time.monotonic()
        own_s = WHOLE_S
        try:
            # All are sent before an answer is read: the child plays while this side works the next ones out.
            for case in planned:
                self._send(case)
                self._runner.look()
            own_s = time.monotonic() - begun
            self._runner.wait_ready()
            slow = time.monotonic() + PATIENCE_S
            for place, case in enumerate(planned, 1):
                found += self._judge_next(case)
                if found and time.monotonic() > slow and place < len(planned):
                    return self._failed(found, complete=False)
            if not found:
                self._runner.finish()
                return self._report.passed(len(planned), self._seed)
            return self._failed(found, complete=True)
        except TookTooLong:
            if own_s > WHOLE_S / 6:
                raise
            return self._stopped(ReaderStopped("slow", seconds=WHOLE_S))
        except ReaderStopped as stop:
            return self._failed(found, complete=False) if found else self._stopped(stop)

    def _send(self, case: Any) -> None:
        self._played.append(case)
        job = msgspec.msgpack.encode(self._drill.job(case))
        self._runner.send(PlayJob(len(self._played), job))

    def _judge_next(self, case: Any) -> list[Wrong]:
        answer = self._runner.answer()
        if not isinstance(answer, Played):
            raise ReaderStopped("confused")
        try:
            return list(wrongs(self._drill, case, answer))
        except msgspec.DecodeError as error:
            raise ReaderStopped("confused") from error

    # -- what is wrong

    def _failed(self, found: list[Wrong], complete: bool) -> Verdict:
        told = first(self._drill, found)
        look = self._say(Sentence("the check was ended early, so there is no recording of it"))
        if complete:
            with suppress(ReaderStopped):
                told = self._shortest(told)
            look = self._say(NO_TRACE)
            with suppress(ReaderStopped):
                look = self._look(told)
        failing = {each.check for each in found} - {told.check}
        failure = Failure(
            check=told.check,
            fault=told.found.fault,
            expected=sentence("expected", told.found, self._file, self._tell),
            seen=sentence("seen", told.found, self._file, self._tell),
            case=self._drill.in_words(told.case, self._tell),
            look=look,
        )
        others = [check for check in self._drill.checks if check in failing]
        return self._report.failed(failure, others, complete, self._seed, self._runner.output())

    def _shortest(self, found: Wrong) -> Wrong:
        """The smallest case with that fault to which taking away one thing after the other leads."""
        tries = 0
        while tries < TRIES:
            for case in self._drill.smaller(found.case):
                if self._drill.check_of(case, found.found.fault) != found.check:
                    continue
                tries += 1
                self._send(case)
                alike = [each for each in self._judge_next(case) if each.found.fault == found.found.fault]
                if alike:
                    found = Wrong(found.check, alike[0].found, case)
                    break
            else:
                return found
        return found

    def _stopped(self, stop: ReaderStopped) -> Verdict:
        case = self._played[stop.number - 1] if stop.number else None
        if stop.kind == "stuck" and case is not None:
            stuck = Found(STUCK, {"request": 0, **stop.values})
            return self._failed([Wrong(self._drill.check_of(case, STUCK), stuck, case)], complete=False)
        words = "" if case is None else self._drill.in_words(case, self._tell)
        return self._report.stopped(stop.kind, stop.sentence, words, self._runner.output())

    # -- the trace command

    def _look(self, told: Wrong) -> str:
        """The command that opens the trace where the fault shows, or why there is none."""
        if told.found.fault in NOT_TRACED:
            return self._say(NO_TRACE)
        recorded = self._drill.recording(told.case)
        if recorded is None:
            return self._tell("no-recording") if self._tell.knows("no-recording") else ""
        recording, spec = recorded
        self._runner.send(StepsJob(len(self._played) + 1, recording, spec))
        answer = self._runner.answer()
        if not isinstance(answer, Steps) or not answer.steps:
            return self._say(NO_TRACE)
        path = self._place.failures / f"{self._exercise.name}-{told.check}.jsonl"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _titled(recording, f"{self._exercise.name}, {told.check}").write(path)
        except OSError as error:
            return self._say(unwritten(path, error))
        words = ["trace", shown(path), "--yours", shown(self._file)]
        words += ["--from-step", str(_step(answer.steps, told.found))]
        words += ["--spec-version", spec] if spec != "2.3" else []
        return f"{self._place.program} {shlex.join(words)}"


def _place(file: str, line: int, function: str) -> Sentence:
    if not line:
        return NOTHING
    if not function:
        return Sentence(" ({file}, line {line})", file=file, line=line)
    return Sentence(" ({file}, line {line}, in {function})", file=file, line=line, function=function)


def _titled(recording: Recording, title: str) -> Recording:
    return Recording(replace(recording.header, title=title), recording.lines)


def _step(steps: list[StepSeen], found: Found) -> int:
    """The last step of the request that fails, up to the instant at which the fault shows."""
    of_it = [step for step in steps if step.client == found.client]
    before = [step.number for step in of_it if step.t_us <= found.t_us]
    return max(before, default=of_it[0].number if of_it else 1)
