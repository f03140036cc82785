"""Reported faults of programs that people learn with (G4 to G8 of ``docs/cases.md``)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import typer

from minisgl_tutor.cli.main import main
from minisgl_tutor.exercises import checker
from minisgl_tutor.exercises.catalogue import Exercise, exercises, resolve
from minisgl_tutor.exercises.checker import Place, check
from minisgl_tutor.exercises.reader_file import load, raised
from minisgl_tutor.exercises.verdict import Report, Verdict
from minisgl_tutor.exercises.workspace import Workspace
from minisgl_tutor.language import ENGLISH

ROOT = Path(__file__).parents[2]
ALL = exercises()

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


def process(*arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "minisgl_tutor", *arguments]
    return subprocess.run(command, capture_output=True, env={**os.environ, **environment}, check=False)


def judged(exercise: Exercise, content: str, tmp_path: Path) -> Verdict:
    file = tmp_path / f"{exercise.name}.py"
    file.write_text(content)
    return check(exercise, file, 1, Place(tmp_path / ".failures"))


def a_solution(exercise: Exercise) -> Path:
    return sorted((exercise.path / "solutions").glob("*.py"))[0]


# -- G4

ENVIRONMENTS = [
    {"PYTHONIOENCODING": "cp1252"},
    {"PYTHONIOENCODING": "gbk"},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=["cp1252", "gbk", "C"])
def test_case_g4_no_console_is_too_small_for_a_character(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = tmp_path / "é 世"
    (here / "minisgl-exercises").mkdir(parents=True)
    monkeypatch.chdir(here)
    answer = a_solution(resolve("5c.5")).read_text("utf-8") + "\nprint('² 世 👋 \\ufffd ─')\n"
    file = here / "minisgl-exercises" / "exercise-5c.5.py"
    file.write_bytes(answer.replace("\n", "\r\n").encode())
    result = process("check", "5c.5", "--lang", "zh", PYTHONPATH=str(ROOT), **environment)
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"\x1b[" not in result.stdout
    assert json.loads((here / "minisgl-exercises" / ".progress.json").read_text("utf-8"))["passed"]


def test_case_g4_a_trace_is_the_same_in_any_locale() -> None:
    command = ("trace", "--chapter", "2", "--json")
    shown = process(*command, PYTHONPATH=str(ROOT))
    other = process(*command, PYTHONPATH=str(ROOT), **ENVIRONMENTS[-1])
    assert other.returncode == 0 and other.stdout == shown.stdout and other.stderr == b""


# -- G6


def test_case_g6_what_has_been_passed_stays_so_the_last_one_too(run: Run, folder: Path) -> None:
    last = ALL[-1]
    workspace = folder / "minisgl-exercises"
    workspace.mkdir()
    shutil.copy(a_solution(last), workspace / f"{last.name}.py")
    assert run("check", last.key)[0] == 0
    status, text = run("exercises")
    assert f"1 of {len(ALL)} right." in text and status == 0
    assert [Workspace(workspace).state(exercise) for exercise in ALL].count("passed") == 1
    (workspace / f"{last.name}.py").write_text("# broken\n")
    assert Workspace(workspace).state(last) == "changed"
    assert f"0 of {len(ALL)} right." in run("exercises")[1]
    assert run("check", last.key)[0] == 1


def test_case_g6_what_is_announced_has_been_written(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever interrupts the program right at the message has passed."""
    exercise = resolve("5c.5")
    known: list[str] = []

    def echo(line: str = "", **options: object) -> None:
        if ": right." in line:
            known.append(Workspace(folder / "minisgl-exercises").state(exercise))
            raise KeyboardInterrupt

    def right(*given: object) -> Verdict:
        return Report(exercise.name, exercise.drill().checks, exercise.teller(ENGLISH)).passed(1, 1)

    monkeypatch.setattr(typer, "echo", echo)
    monkeypatch.setattr(checker, "check", right)
    assert run("check", "5c.5")[0] != 0
    assert known == ["passed"]


# -- G7

GUARD = """
import os, socket, sys

def guard(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        if arguments[1][0] not in ("127.0.0.1", "::1"):
            _tell(arguments[1][0])
    elif event == "socket.getaddrinfo" and arguments[0] not in (None, "127.0.0.1", "::1", "localhost", ""):
        _tell(arguments[0])

def _tell(host):
    with open(os.environ["ASKED_FOR"], "a") as file:
        file.write(f"{host} {sys.argv}\\n")
    raise OSError("there is no network")

sys.addaudithook(guard)
"""


@pytest.fixture
def no_network(tmp_path: Path) -> dict[str, str]:
    """An environment in which every process tells of an attempt to leave this machine, and fails at it."""
    (tmp_path / "guard").mkdir()
    (tmp_path / "guard" / "sitecustomize.py").write_text(GUARD)
    (tmp_path / "home").mkdir()
    return {
        "PYTHONPATH": f"{tmp_path / 'guard'}{os.pathsep}{ROOT}",
        "ASKED_FOR": str(tmp_path / "asked"),
        "HOME": str(tmp_path / "home"),
        "HF_HUB_OFFLINE": "1",
    }


def test_case_g7_learning_needs_no_network(
    no_network: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for arguments, status in (
        (("exercises",), 0),
        (("check", "5c.5"), 1),
        (("trace", "--chapter", "2", "--json"), 0),
    ):
        result = process(*arguments, **no_network)
        assert result.returncode == status, result.stderr
    assert not (tmp_path / "asked").exists()


def test_case_g7_serving_the_shipped_model_needs_no_network(
    start_server, no_network: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    for name, value in no_network.items():
        monkeypatch.setenv(name, value)
    server = start_server("-m", "minisgl_tutor", "serve", "--port", "0", "--threads", "1").wait_ready()
    assert server.ask("What is a KV cache?").status_code == 200
    server.process.terminate()
    assert server.wait_end() == 0
    assert not (tmp_path / "asked").exists()


def test_case_g7_the_guard_notices_a_connection(no_network: dict[str, str], tmp_path: Path) -> None:
    code = "import socket; socket.create_connection(('192.0.2.1', 80), 1)"
    environment = {**os.environ, **no_network}
    result = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=False)
    assert result.returncode == 1 and "192.0.2.1" in (tmp_path / "asked").read_text()


# -- G8


@pytest.mark.parametrize(
    ("gone", "command"),
    [
        ("exercises/exercise-4/starter.py", ("start", "5.4")),
        ("exercises/exercise-4/starter.py", ("check", "5.4")),
        ("exercises/exercise-4/solutions", ("solution", "5.4", "--give-up")),
        ("", ("exercises",)),
        ("", ("trace", "--chapter", "5")),
    ],
)
def test_case_g8_a_missing_file_of_the_package_is_one_sentence(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: str, command: tuple[str, ...]
) -> None:
    package = tmp_path / "installed" / "minisgl_tutor"
    package.mkdir(parents=True)
    chapter = package / "chapters" / "05-http-service"
    shutil.copytree(resolve("5.4").path.parents[1], chapter)
    missing = chapter / gone if gone else package / "chapters"
    missing.unlink() if missing.is_file() else shutil.rmtree(missing)
    monkeypatch.setattr("minisgl_tutor.resources.PACKAGE_DIR", package)
    exercises.cache_clear()
    try:
        status, text = run(*command)
    finally:
        exercises.cache_clear()
    what = str(missing) if gone else "the folder of the chapters"
    assert text == f"Error: {what} is missing from this installation; install minisgl-tutor again\n"
    assert status == 1


@pytest.mark.parametrize(
    ("content", "line"),
    [("x = 1\ndef f(:\n", 2), ("import nowhere\n", 1), ("x = 1\n\ndef classify():\n    return 1\n", 3)],
)
def test_case_g8_an_error_in_the_answer_has_its_line_there(content: str, line: int, tmp_path: Path) -> None:
    verdict = judged(resolve("5c.5"), content, tmp_path)
    (seen,) = [text for text in verdict.lines if text.startswith("  seen")]
    assert f"exercise-5c.5.py, line {line}" in seen
    assert "three_words.py" not in "".join(verdict.lines) and "Traceback" not in "".join(verdict.lines)


def test_case_g8_a_call_that_the_answer_does_not_take_is_told_by_its_definition(tmp_path: Path) -> None:
    file = tmp_path / "reader.py"
    file.write_text("\n\nclass Mine:\n    def parse(self):\n        pass\n")
    mine = vars(load(file))["Mine"]()
    with pytest.raises(TypeError) as wrong:
        mine.parse(1)
    assert raised(wrong.value, file).line == 4


def test_case_g8_a_recording_that_is_not_there_or_none(run: Run, folder: Path) -> None:
    status, text = run("trace", "nowhere.jsonl")
    assert status == 2 and text == "Error: nowhere.jsonl cannot be read: No such file or directory\n"
    (folder / "some.jsonl").write_text("garbage\n")
    status, text = run("trace", "some.jsonl")
    assert status == 2 and text.startswith("Error: some.jsonl, line 1: ")


def test_case_g8_an_unknown_name_is_answered_with_those_that_there_are(run: Run) -> None:
    status, text = run("check", "nosuch")
    assert status == 2 and all(exercise.key in text for exercise in ALL)
