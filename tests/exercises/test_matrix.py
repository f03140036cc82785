"""A checker is trusted only since it accepts these solutions and rejects each wrong fix for its reason.

The files are played in this process: what the checker's child does, without its limits.
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from minisgl_tutor.exercises.catalogue import Exercise, exercises
from minisgl_tutor.exercises.checker import Wrong, first, sentence, wrongs
from minisgl_tutor.exercises.child import played
from minisgl_tutor.exercises.drill import BLOCKS, GENERAL, RAISED, STUCK, Drill, Reader
from minisgl_tutor.exercises.drills.stage import FAILS
from minisgl_tutor.exercises.matrix import Case, cases, untold
from minisgl_tutor.exercises.reader_file import ReaderFileError, load
from minisgl_tutor.exercises.wire import PlayJob
from minisgl_tutor.language import Tongue
from tests.language.english import english_left

# Wrong fixes leave behind what they leave behind.
pytestmark = pytest.mark.filterwarnings("ignore")

ALL = exercises()
CASES = [(exercise, case) for exercise in ALL for case in cases(exercise)]
NOT_LOADED = "not-loaded"
IN_THE_CHILD = (STUCK, BLOCKS)
"""What only the child's watchdog and sandbox notice."""


UNLOADED = [(exercise, case) for exercise, case in CASES if case.fault == NOT_LOADED]


def files(right: bool) -> list[Any]:
    return [
        pytest.param(exercise, case, id=f"{exercise.key}-{case.file.stem}")
        for exercise, case in CASES
        if (not case.check) is right and case.fault not in (*IN_THE_CHILD, NOT_LOADED)
    ]


@pytest.fixture(scope="module")
def drills() -> dict[str, Drill[Any, Any, Any]]:
    return {exercise.key: exercise.drill() for exercise in ALL}


def judge(drill: Drill[Any, Any, Any], file: Path, planned: list[Any]) -> list[Wrong]:
    module = load(file)
    reader = Reader(drill.find(module, file.name), file, module)
    found: list[Wrong] = []
    for number, case in enumerate(planned, 1):
        job = PlayJob(number, msgspec.msgpack.encode(drill.job(case)))
        found += wrongs(drill, case, played(drill, reader, job, "", []))
    return found


def in_chinese(exercise: Exercise, drill: Drill[Any, Any, Any], told: Wrong, file: Path) -> str:
    """What is said of it, without the texts that are data and without the names of clients."""
    tell = exercise.teller(Tongue("zh"))
    values = {
        name: "..." if isinstance(value, str) and name != "what" else value
        for name, value in told.found.values.items()
    }
    found = replace(told.found, values=values)
    expected, seen = (sentence(kind, found, file, tell) for kind in ("expected", "seen"))
    words = re.sub(r"\b[A-Z]\b", "", drill.in_words(told.case, tell))
    return "\n".join([tell(f"check {told.check}"), expected, seen, words])


@pytest.mark.parametrize(("exercise", "case"), files(right=True))
def test_a_solution_passes(exercise: Exercise, case: Case, drills: dict[str, Drill[Any, Any, Any]]) -> None:
    drill = drills[exercise.key]
    assert judge(drill, case.file, list(drill.cases(random.Random(7)))) == []


@pytest.mark.parametrize(("exercise", "case"), files(right=False))
def test_a_wrong_fix_fails_for_its_own_reason(
    exercise: Exercise, case: Case, drills: dict[str, Drill[Any, Any, Any]]
) -> None:
    drill = drills[exercise.key]
    # What comes later in the report cannot change how it begins.
    before = set(drill.checks[: drill.checks.index(case.check) + 1])
    faults = (*GENERAL, *drill.faults)
    planned = [
        each
        for each in drill.cases(random.Random(7))
        if before & {drill.check_of(each, fault) for fault in faults}
    ]
    told = first(drill, judge(drill, case.file, planned))
    assert (told.check, told.found.fault) == (case.check, case.fault)
    if told.found.fault not in (RAISED, FAILS):  # what Python itself says stays as it is
        assert english_left(in_chinese(exercise, drill, told, case.file)) == []


@pytest.mark.parametrize(("exercise", "case"), UNLOADED, ids=[exercise.key for exercise, _ in UNLOADED])
def test_a_class_in_which_nothing_is_the_readers_is_not_judged(
    exercise: Exercise, case: Case, drills: dict[str, Drill[Any, Any, Any]]
) -> None:
    with pytest.raises(ReaderFileError, match=r"no method of .* does more than call the server's own"):
        drills[exercise.key].find(load(case.file), case.file.name)


@pytest.mark.parametrize("exercise", ALL, ids=lambda each: each.key)
def test_texts_and_languages_leave_nothing_out(exercise: Exercise) -> None:
    assert list(untold(exercise)) == []


def test_the_matrix_in_the_docs_has_every_file() -> None:
    table = (Path(__file__).parents[2] / "docs" / "exercise-matrix.md").read_text("utf-8")
    rows = [line for line in table.splitlines() if line.startswith("| ")][1:]
    due = [f"| {exercise.key} | {case.name} | {case.due} |" for exercise, case in CASES]
    assert rows == due, "write it anew: minisgl-tutor dev check-exercises --markdown"


@pytest.mark.parametrize("exercise", ALL, ids=lambda each: each.key)
def test_there_are_designs_enough_to_tell_right_from_wrong(exercise: Exercise) -> None:
    found = [case for each, case in CASES if each == exercise]
    assert sum(not case.check for case in found) >= 2
    assert sum(bool(case.check) for case in found[1:]) >= 5


@pytest.mark.parametrize("exercise", ALL, ids=lambda each: each.key)
def test_one_seed_gives_one_list_of_cases(exercise: Exercise) -> None:
    drill = exercise.drill()
    assert list(drill.cases(random.Random(5))) == list(drill.cases(random.Random(5)))
    assert {
        drill.check_of(case, fault)
        for case in drill.cases(random.Random(5))
        for fault in (*GENERAL, *drill.faults)
    } >= set(drill.checks)
