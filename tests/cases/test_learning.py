"""Reported faults of programs that people learn with (G1 and G2 of ``docs/cases.md``)."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.exercises.catalogue import Exercise, exercises, resolve
from minisgl_tutor.exercises.checker import Place, check
from minisgl_tutor.exercises.child import played
from minisgl_tutor.exercises.drill import Reader
from minisgl_tutor.exercises.reader_file import ReaderFileError, load
from minisgl_tutor.exercises.verdict import Exit, Verdict
from minisgl_tutor.exercises.wire import PlayJob
from minisgl_tutor.exercises.workspace import Workspace

ALL = exercises()
each = pytest.mark.parametrize("exercise", ALL, ids=lambda exercise: exercise.key)
IMPORT = "from minisgl_tutor.server.frontend import FrontendManager\n"
INHERIT = IMPORT + "class Mine(FrontendManager):\n    pass\n"

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["minisgl-tutor"])
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """A command of the program: its exit status, and all that it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        captured = capsys.readouterr()
        return int(ended.value.code or 0), captured.out + captured.err

    return run


def judged(exercise: Exercise, content: str, tmp_path: Path) -> Verdict:
    file = tmp_path / f"{exercise.name}.py"
    file.write_text(content)
    return check(exercise, file, 1, Place(tmp_path / ".failures"))


def a_solution(exercise: Exercise) -> Path:
    return sorted((exercise.path / "solutions").glob("*.py"))[0]


# -- G1


@each
@pytest.mark.parametrize("content", ["", "# nothing\n", '"""A text."""\n', "x = 1\n"])
def test_case_g1_a_file_without_an_answer_is_not_judged_as_one(
    exercise: Exercise, content: str, tmp_path: Path
) -> None:
    file = tmp_path / "reader.py"
    file.write_text(content)
    with pytest.raises(ReaderFileError, match=r"reader\.py: it has no "):
        exercise.drill().find(load(file), file.name)


@pytest.mark.parametrize("key", ["5.3", "5.4", "5.7"])
def test_case_g1_what_is_asked_for_must_be_in_the_file(key: str, tmp_path: Path) -> None:
    """The server's own class is right: whoever deletes the starter's methods would inherit the answer."""
    verdict = judged(resolve(key), INHERIT, tmp_path)
    assert verdict.exit is Exit.NOT_YET
    said = "no method of Mine does more than call the server's own" if key == "5.7" else " of its own"
    assert any(said in line for line in verdict.lines)


@pytest.mark.parametrize(
    ("key", "answer"),
    [
        ("5c.2", "def parse(*given):\n    return None\ndef build(*given):\n    return b''\n"),
        ("5c.2", "def parse(given):\n    return given\ndef build(given):\n    return given\n"),
        ("5c.5", "def classify(trace):\n    return True, True, True\n"),
        ("5c.5", "def classify(trace):\n    return False, False, False\n"),
        ("5c.5", "def classify(trace):\n    return trace\n"),
    ],
)
def test_case_g1_a_constant_or_what_was_given_does_not_pass(key: str, answer: str, tmp_path: Path) -> None:
    exercise = resolve(key)
    drill = exercise.drill()
    file = tmp_path / "reader.py"
    file.write_text(answer)
    module = load(file)
    reader = Reader(drill.find(module, file.name), file, module)
    faults = []
    for number, case in enumerate(drill.cases(random.Random(1)), 1):
        seen = played(drill, reader, PlayJob(number, msgspec.msgpack.encode(drill.job(case))), "", [])
        if seen.stopped is not None:
            faults.append("raised")
        else:
            faults += [
                found.fault
                for found in drill.judge(case, msgspec.msgpack.decode(seen.seen, type=drill.seen_type))
            ]
    assert faults


def test_case_g1_only_a_right_answer_has_exit_status_0(run: Run, folder: Path) -> None:
    exercise = resolve("5c.5")
    (folder / "minisgl-exercises").mkdir()
    file = folder / "minisgl-exercises" / f"{exercise.name}.py"
    for content, status in (
        ("import sys\nsys.exit(0)\n", 1),
        (a_solution(resolve("5.4")).read_text(), 1),
        (a_solution(exercise).read_text(), 0),
    ):
        file.write_text(content)
        assert run("check", "5c.5")[0] == status


# -- G2

NEVER_ENDS = {
    "thread": (
        "import threading; threading.Thread(target=lambda: [0 for _ in iter(int, 1)]).start()",
        "a thread",
    ),
    "program": ("import subprocess; subprocess.Popen(['sleep', '99'])", "another program"),
    "recursion": ("self.new_user()", "RecursionError"),
}


@pytest.mark.parametrize("name", NEVER_ENDS)
def test_case_g2_what_would_never_end_is_ended_and_named(name: str, tmp_path: Path) -> None:
    body, word = NEVER_ENDS[name]
    verdict = judged(resolve("5.7"), f"{INHERIT[:-9]}    def new_user(self):\n        {body}\n", tmp_path)
    assert verdict.exit is Exit.NOT_YET and verdict.lines[0].startswith("exercise-7: ")
    (seen,) = [line for line in verdict.lines if line.startswith("  seen")]
    assert word in seen and "exercise-7.py, line 4" in seen


def test_case_g2_the_others_are_judged_all_the_same(run: Run, folder: Path) -> None:
    (folder / "minisgl-exercises").mkdir()
    for name, content in {
        "exercise-5c.2": "import os\nos._exit(0)\n",
        "exercise-5c.5": a_solution(resolve("5c.5")).read_text(),
    }.items():
        (folder / "minisgl-exercises" / f"{name}.py").write_text(content)
    status, text = run("check", "5c.2", "5c.5")
    assert status == 1 and "exercise-5c.5: right." in text and "exercise-5c.2: not yet right." in text
    assert Workspace(folder / "minisgl-exercises").state(resolve("5c.5")) == "passed"
