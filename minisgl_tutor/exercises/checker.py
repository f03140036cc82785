"""Checks a solution of exercise 7: plays schedules over the reader's class, judges, and finds the shortest fault."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ..resources import model_dir
from ..server.frontend import FrontendManager
from ..tokenizer.load import TokenizerNotFound, load_eos_token_ids, load_tokenizer
from . import verdict
from .judge import Check, Fault, Violation, check_of, judge
from .lifecycle import schedules
from .rigs import Rig
from .runner import CheckFailed, ReaderStopped, Runner, running
from .schedule import Schedule
from .score import Scorer
from .sentences import say
from .shrink import shortest
from .verdict import Verdict
from .wire import Observation, StageJob, StepSeen, StepsJob

# What cannot be played to its end cannot be traced either.
NOT_TRACED = (Fault.STUCK, Fault.POLLS, Fault.THREAD)


@dataclass(frozen=True)
class Place:
    """Where a failing schedule's recording goes. ``exercise`` is the name of the exercise."""

    exercise: str
    failures: Path

    def recording(self, check: Check) -> Path:
        return self.failures / f"{self.exercise}-{check}.jsonl"


def check_lifecycle(file: Path, seed: int, place: Place) -> Verdict:
    """Judges the file. It runs in a child process, which is gone afterwards."""
    try:
        with running(file) as runner:
            return _Checking(file, seed, place, runner).verdict()
    except CheckFailed as error:
        return verdict.undecided(place.exercise, str(error))


class _Checking:
    def __init__(self, file: Path, seed: int, place: Place, runner: Runner) -> None:
        self._file = file
        self._seed = seed
        self._place = place
        self._runner = runner
        self._scorer = _scorer()
        self._played: list[Schedule] = []

    def verdict(self) -> Verdict:
        try:
            found = list(self._judged(schedules(self._seed)))
            if not found:
                self._runner.finish()
                return verdict.passed(self._place.exercise, len(self._played), self._seed)
        except ReaderStopped as stop:
            return self._stopped(stop)
        return self._failed(found)

    def _judged(self, planned: list[Schedule]) -> Iterator[Violation]:
        """Sends all jobs, so that the child works while the own class is played here, then judges the answers."""
        for schedule in planned:
            self._send(schedule)
        self._runner.wait_ready()
        for schedule in planned:
            yield from self._judge_next(schedule)

    def _send(self, schedule: Schedule) -> None:
        self._played.append(schedule)
        self._runner.send(self._scorer.job(len(self._played), schedule))

    def _judge_next(self, schedule: Schedule) -> list[Violation]:
        answer = self._runner.answer()
        assert isinstance(answer, Observation)
        return judge(schedule, self._scorer.undisturbed(schedule), answer)

    def _tried(self, schedule: Schedule) -> list[Violation]:
        self._send(schedule)
        return self._judge_next(schedule)

    def _failed(self, found: list[Violation]) -> Verdict:
        found.sort(key=Violation.order)
        first = found[0]
        with suppress(ReaderStopped):
            first = shortest(first, self._tried)
        others = list(dict.fromkeys(each.check.value for each in found if each.check is not first.check))
        look = say("from-the-start")
        with suppress(ReaderStopped):
            look = self._look(first)
        return verdict.failed(
            self._place.exercise, first, others, True, look, self._seed, self._runner.output, self._file.name
        )

    def _stopped(self, stop: ReaderStopped) -> Verdict:
        schedule = self._played[stop.number - 1] if stop.number else None
        printed = self._runner.output
        if stop.kind != "stuck" or schedule is None:
            kind = "stuck-loading" if stop.kind == "stuck" else stop.kind
            return verdict.stopped(self._place.exercise, kind, stop.values, schedule, printed)
        check = check_of(schedule, Fault.STUCK)
        first = Violation(check, Fault.STUCK, schedule, 0, 0, {"uid": "0", **stop.values})
        look = say("from-the-start")
        return verdict.failed(
            self._place.exercise, first, [], False, look, self._seed, printed, self._file.name
        )

    # -- the trace command

    def _look(self, first: Violation) -> str:
        if first.fault in NOT_TRACED:
            return say("from-the-start")
        job = self._scorer.job(len(self._played) + 1, first.schedule)
        if not isinstance(job, StageJob):
            return say("no-recording")
        self._played.append(first.schedule)
        self._runner.send(StepsJob(job.number, job.recording, job.spec))
        answer = self._runner.answer()
        assert not isinstance(answer, Observation)
        if not answer.steps:
            return say("from-the-start")
        path = self._place.recording(first.check)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            job.recording.write(path)
        except OSError as error:
            return say("no-write", path=path, reason=error.strerror)
        words = ["minisgl-tutor", "trace", _shown(path), "--frontend", _shown(self._file)]
        words += ["--from-step", str(_step(answer.steps, first))]
        words += ["--spec-version", job.spec] if job.spec != "2.3" else []
        return shlex.join(words)


def _scorer() -> Scorer:
    try:
        tokenizer = load_tokenizer(model_dir())
    except TokenizerNotFound as error:
        raise CheckFailed(f"{error}; install minisgl-tutor again") from error
    rig = Rig(FrontendManager, tokenizer)
    return Scorer(tokenizer, load_eos_token_ids(model_dir(), tokenizer), lambda job: rig.play(job, ""))


def _step(steps: list[StepSeen], first: Violation) -> int:
    """The last step of the request that fails, up to the instant at which the fault shows."""
    of_it = [step for step in steps if step.client == first.client]
    before = [step.number for step in of_it if step.t_us <= first.t_us]
    return max(before, default=of_it[0].number if of_it else 1)


def _shown(path: Path) -> str:
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
