"""Chapter 5, exercise 7: whatever ends a request, nothing of it may stay behind."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import ModuleType

from ....language import Sentence
from ....recording import Recording
from ....resources import model_dir
from ....server.frontend import FrontendManager
from ....tokenizer.load import load_eos_token_ids, load_tokenizer
from ....tokenizer.tokenizer import Tokenizer
from ...drill import CheckFailed, Drill, Found, Reader, Say
from ...reader_file import check_own, the_class
from .judge import FAULTS, Check, check_of, judge
from .observation import Job, Observation, StageJob
from .rigs import Rig
from .schedule import STEP_MS, Client, Extra, Schedule, smaller
from .schedules import schedules
from .score import Scorer


class LifecycleDrill(Drill[Schedule, Job, Observation]):
    """Schedules of clients that come and leave, over a subclass of ``FrontendManager``."""

    job_type = Job
    seen_type = Observation
    checks = tuple(check.value for check in Check)
    faults = FAULTS

    def prepare(self) -> None:
        assert self._tokenizer is not None

    def find(self, module: ModuleType, file: str) -> type[FrontendManager]:
        cls = the_class(module, FrontendManager, file)
        check_own([cls], [FrontendManager], file)
        return cls

    def play(self, reader: Reader, job: Job) -> Observation:
        return Rig(reader.found, self._tokenizer, reader.path, reader.module).play(job)

    def cases(self, rng: random.Random) -> Sequence[Schedule]:
        return schedules(rng)

    def job(self, case: Schedule) -> Job:
        return self._scorer.job(case)

    def judge(self, case: Schedule, seen: Observation) -> Iterator[Found]:
        return judge(case, self._scorer.undisturbed(case), seen)

    def check_of(self, case: Schedule, fault: str) -> str:
        return check_of(case, fault).value

    def size(self, case: Schedule) -> tuple[int, ...]:
        return case.size()

    def smaller(self, case: Schedule) -> Iterator[Schedule]:
        return smaller(case)

    def recording(self, case: Schedule) -> tuple[Recording, str] | None:
        job = self.job(case)
        return (job.recording, job.spec) if isinstance(job, StageJob) else None

    def in_words(self, case: Schedule, say: Say) -> str:
        parts = [say("clients", count=len(case.clients))]
        parts += [_client(index, client, say) for index, client in enumerate(case.clients)]
        if case.extra is not Extra.NOTHING:
            parts.append(say(case.extra.value))
        if case.spec != "2.3":
            parts.append(say("spec", spec=case.spec))
        return say("sentence end").join(parts)

    @cached_property
    def _tokenizer(self) -> Tokenizer:
        return load_tokenizer(model_dir())

    @cached_property
    def _scorer(self) -> Scorer:
        own = Rig(FrontendManager, self._tokenizer)

        def rehearse(job: Job) -> Observation:
            seen = own.play(job)
            if seen.stopped is not None:
                why = seen.stopped.sentence()
                raise CheckFailed(Sentence("the server's own class cannot be played here: {why}", why=why))
            return seen

        return Scorer(self._tokenizer, load_eos_token_ids(model_dir(), self._tokenizer), rehearse)


def _client(index: int, client: Client, say: Say) -> str:
    words = say(
        "later" if client.start else "client",
        index=index,
        ms=client.start * STEP_MS,
        mode=say("stream" if client.stream else "whole"),
        replies=say("replies", count=client.replies),
        ending=say(client.ending.value, after=say("replies", count=client.after), next=client.after + 1),
    )
    return words + say("pauses", steps=", ".join(map(str, client.pauses))) if client.pauses else words
