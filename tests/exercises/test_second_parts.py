"""Second parts: a test is judged by classes that are right and classes that are not."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from minisgl_tutor.exercises.catalogue import of_chapter, resolve
from minisgl_tutor.exercises.drill import Reader
from minisgl_tutor.exercises.drills.proof import ProofDrill
from minisgl_tutor.exercises.reader_file import load
from minisgl_tutor.resources import chapters_dir

PARTS = ("5.5b", "5.7b")


@pytest.mark.parametrize("name", ["5.5b", "5b", "exercise-5b", "exercise-5.5b", "exercise-5B.py"])
def test_a_second_part_has_names_of_its_own(name: str) -> None:
    exercise = resolve(name)
    assert (exercise.key, exercise.name) == ("5.5b", "exercise-5b")
    assert resolve(name.lower().replace("5b", "5")).key == "5.5"


def test_a_second_part_stands_behind_its_first() -> None:
    keys = [exercise.key for exercise in of_chapter("5")]
    assert all(keys.index(key) == keys.index(key.removesuffix("b")) + 1 for key in PARTS)


@pytest.mark.parametrize("key", PARTS)
def test_every_faulty_class_is_a_wrong_fix_of_the_first_part(key: str) -> None:
    drill = resolve(key).drill()
    assert isinstance(drill, ProofDrill)
    folder: Path = chapters_dir() / drill.first_part
    cases = list(drill.cases(random.Random(1)))
    assert sum(not case.fails for case in cases) >= 3
    assert all((folder / case.file).is_file() for case in cases)


FAILING_TESTS = {
    "its own assertion, behind a task of the class that failed": (
        "AssertionError",
        """\
async def test_routing(bench):
    uid = await bench.ask()
    client = bench.stream(uid)
    await bench.settle()
    bench.fail_next_send()
    client.leave()
    await bench.settle()
    assert bench.aborts == [uid]
""",
    ),
    "what the bench raises": (
        "ConnectionError",
        """\
async def test_routing(bench):
    bench.fail_next_send()
    await bench.ask()
""",
    ),
    "a wait for what never comes": (
        "Deadlock",
        """\
async def test_routing(bench):
    client = bench.stream(await bench.ask())
    await client.end()
""",
    ),
}


@pytest.mark.parametrize(("kind", "text"), FAILING_TESTS.values(), ids=FAILING_TESTS)
@pytest.mark.filterwarnings("ignore")
def test_of_a_test_that_fails_the_line_is_told(kind: str, text: str, tmp_path: Path) -> None:
    file = tmp_path / "exercise-5b.py"
    file.write_text(text, "utf-8")
    drill = resolve("5.5b").drill()
    module = load(file)
    reader = Reader(drill.find(module, file.name), file, module)
    right = next(case for case in drill.cases(random.Random(1)) if not case.fails)
    seen = drill.play(reader, drill.job(right))
    assert (seen.raised.kind, seen.raised.line) == (kind, len(text.splitlines()))
