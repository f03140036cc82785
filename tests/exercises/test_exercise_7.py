"""The checker is trusted only since it accepts these solutions and rejects each wrong fix for its reason."""

from __future__ import annotations

import random
from typing import Any

import pytest

from minisgl_tutor.exercises.catalogue import resolve
from minisgl_tutor.exercises.judge import Check, Fault, check_of
from minisgl_tutor.exercises.lifecycle import fixed
from minisgl_tutor.exercises.matrix import Case, cases
from minisgl_tutor.exercises.schedule import ANY, Schedule, random_schedule

# Wrong fixes leave behind what they leave behind.
pytestmark = pytest.mark.filterwarnings("ignore")

EXERCISE = resolve("exercise-7")
CASES = list(cases(EXERCISE))
IN_THE_CHILD = {"sleeps_in_the_loop"}
"""What only the child's sandbox notices."""


def name(case: Case) -> str:
    return case.file.stem


def checks_of(schedule: Schedule) -> set[Check]:
    return {check_of(schedule, fault) for fault in Fault}


@pytest.mark.parametrize("case", [each for each in CASES if not each.check], ids=name)
def test_a_solution_passes(case: Case, table: Any) -> None:
    rng = random.Random(7)
    rig = table.of(case.file)
    for schedule in [*fixed(), *(random_schedule(rng, ANY) for _ in range(4))]:
        assert table.judge(rig, schedule) == []


@pytest.mark.parametrize(
    "case", [each for each in CASES if each.check and each.file.stem not in IN_THE_CHILD], ids=name
)
def test_a_wrong_fix_fails_for_its_own_reason(case: Case, table: Any) -> None:
    # What comes later in the report cannot change how it begins.
    up_to_it = set(list(Check)[: list(Check).index(Check(case.check)) + 1])
    first = table.first(table.of(case.file), [each for each in fixed() if checks_of(each) & up_to_it])
    assert first is not None
    assert (first.check, first.fault) == (case.check, case.fault)


def test_there_are_designs_enough_to_tell_right_from_wrong() -> None:
    assert sum(not case.check for case in CASES) >= 3
    assert {case.check for case in CASES if case.check} >= set(Check) - {Check.WRITE_FAILS}


def test_each_check_is_told_in_both_texts_and_has_a_schedule() -> None:
    texts = [(EXERCISE.path / file).read_text("utf-8") for file in ("README.md", "README.zh.md")]
    tried = set().union(*map(checks_of, fixed()))
    for check in Check:
        assert all(f"| `{check}` |" in text for text in texts)
        assert check in tried
