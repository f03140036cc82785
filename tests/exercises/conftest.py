"""Plays schedules over a class in this process: what the checker's child does, without its limits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from minisgl_tutor.exercises.judge import Violation, judge
from minisgl_tutor.exercises.reader_file import load, the_class
from minisgl_tutor.exercises.rigs import Rig
from minisgl_tutor.exercises.schedule import Schedule
from minisgl_tutor.exercises.score import Scorer
from minisgl_tutor.resources import model_dir
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.tokenizer.load import load_eos_token_ids, load_tokenizer
from minisgl_tutor.tokenizer.tokenizer import Tokenizer


class Table:
    """Judges classes by schedules."""

    def __init__(self, tokenizer: Tokenizer, eos_token_ids: frozenset[int]) -> None:
        self._tokenizer = tokenizer
        own = Rig(FrontendManager, tokenizer)
        self.scorer = Scorer(tokenizer, eos_token_ids, lambda job: own.play(job, ""))

    def of(self, file: Path) -> Rig:
        module = load(file)
        return Rig(the_class(module, FrontendManager, file.name), self._tokenizer, file, module)

    def judge(self, rig: Rig, schedule: Schedule) -> list[Violation]:
        seen = rig.play(self.scorer.job(1, schedule), "")
        return judge(schedule, self.scorer.undisturbed(schedule), seen)

    def first(self, rig: Rig, schedules: Iterable[Schedule]) -> Violation | None:
        """The violation that a report would begin with."""
        found = [each for schedule in schedules for each in self.judge(rig, schedule)]
        return min(found, key=Violation.order, default=None)


@pytest.fixture(scope="session")
def table() -> Table:
    tokenizer = load_tokenizer(model_dir())
    return Table(tokenizer, load_eos_token_ids(model_dir(), tokenizer))
