"""Checks a solution of exercise 7: plays schedules over it, judges, and looks for the shortest that fails."""

from __future__ import annotations

import shlex
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from msgspec.structs import replace

from ..recording import Recording
from ..resources import model_dir
from ..server.frontend import FrontendManager
from ..tokenizer.load import TokenizerNotFound, load_eos_token_ids, load_tokenizer
from . import verdict
from .judge import Check, Fault, Violation, check_of, judge
from .lifecycle import schedules
from .rigs import Rig
from .runner import WHOLE_S, CheckFailed, ReaderStopped, Runner, TookTooLong, running
from .schedule import Schedule
from .score import Scorer
from .sentences import say
from .shrink import shortest
from .verdict import Verdict
from .wire import Observation, PlayJob, StageJob, StepSeen, StepsJob
from .workspace import shown

PATIENCE_S = 5.0
"""Once something is wrong, a file whose plays take this long is not played to the end."""

# What cannot be played to its end cannot be traced either.
NOT_TRACED = (Fault.STUCK, Fault.POLLS, Fault.THREAD)


@dataclass(frozen=True)
class Place:
    """Where a failing schedule's recording goes. ``exercise`` is the name of the exercise.

    ``program`` is how a reader starts the command that traces it, quoted for a shell.
    """

    exercise: str
    failures: Path
    program: str = "minisgl-tutor"

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
        found: list[Violation] = []
        planned = schedules(self._seed)
        begun = time.monotonic()
        own_s = WHOLE_S
        try:
            # All are sent before an answer is read: the child plays while the own class is played here.
            for schedule in planned:
                self._send(schedule)
                self._runner.look()
            own_s = time.monotonic() - begun
            self._runner.wait_ready()
            slow = time.monotonic() + PATIENCE_S
            for place, schedule in enumerate(planned, 1):
                found += self._judge_next(schedule)
                if found and time.monotonic() > slow and place < len(planned):
                    return self._failed(found, complete=False)
            if not found:
                self._runner.finish()
                return verdict.passed(self._place.exercise, len(planned), self._seed)
            return self._failed(found, complete=True)
        except TookTooLong:
            if own_s > WHOLE_S / 6:
                raise
            return self._stopped(ReaderStopped("slow", seconds=WHOLE_S, own=own_s))
        except ReaderStopped as stop:
            return self._failed(found, complete=False) if found else self._stopped(stop)

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

    # -- what is wrong

    def _failed(self, found: list[Violation], complete: bool) -> Verdict:
        first = min(found, key=Violation.order)
        look = say("not-looked-for")
        if complete:
            with suppress(ReaderStopped):
                first = shortest(first, self._tried)
            look = say("not-traced")
            with suppress(ReaderStopped):
                look = self._look(first)
        checks = sorted({each.check for each in found} - {first.check}, key=list(Check).index)
        return verdict.failed(
            self._place.exercise,
            first,
            [check.value for check in checks],
            complete,
            look,
            self._seed,
            self._runner.output(),
            self._file.name,
        )

    def _stopped(self, stop: ReaderStopped) -> Verdict:
        schedule = self._played[stop.number - 1] if stop.number else None
        if stop.kind == "stuck" and schedule is not None:
            check = check_of(schedule, Fault.STUCK)
            stuck = Violation(check, Fault.STUCK, schedule, 0, 0, {"request": 0, **stop.values})
            return self._failed([stuck], complete=False)
        kind = "stuck-loading" if stop.kind == "stuck" else stop.kind
        return verdict.stopped(self._place.exercise, kind, stop.values, schedule, self._runner.output())

    # -- the trace command

    def _look(self, first: Violation) -> str:
        if first.fault in NOT_TRACED:
            return say("not-traced")
        job = self._scorer.job(len(self._played) + 1, first.schedule)
        if not isinstance(job, StageJob):
            return say("no-recording")
        self._runner.send(StepsJob(job.number, job.recording, job.spec))
        answer = self._runner.answer()
        assert not isinstance(answer, Observation)
        if not answer.steps:
            return say("not-traced")
        path = self._place.recording(first.check)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            _titled(job.recording, f"{self._place.exercise}, {first.check}").write(path)
        except OSError as error:
            return say("no-write", path=path, reason=error.strerror)
        words = ["trace", shown(path), "--frontend", shown(self._file)]
        words += ["--from-step", str(_step(answer.steps, first))]
        words += ["--spec-version", job.spec] if job.spec != "2.3" else []
        return f"{self._place.program} {shlex.join(words)}"


def _scorer() -> Scorer:
    try:
        tokenizer = load_tokenizer(model_dir())
    except TokenizerNotFound as error:
        raise CheckFailed(f"{error}; install minisgl-tutor again") from error
    rig = Rig(FrontendManager, tokenizer)

    def rehearse(job: PlayJob) -> Observation:
        seen = rig.play(job, "")
        if seen.stopped is not None:
            raise CheckFailed(f"the server's own class cannot be played here: {seen.stopped.text}")
        return seen

    return Scorer(tokenizer, load_eos_token_ids(model_dir(), tokenizer), rehearse)


def _titled(recording: Recording, title: str) -> Recording:
    return Recording(replace(recording.header, title=title), recording.lines)


def _step(steps: list[StepSeen], first: Violation) -> int:
    """The last step of the request that fails, up to the instant at which the fault shows."""
    of_it = [step for step in steps if step.client == first.client]
    before = [step.number for step in of_it if step.t_us <= first.t_us]
    return max(before, default=of_it[0].number if of_it else 1)
