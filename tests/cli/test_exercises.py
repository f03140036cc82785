"""``start``, ``check`` and ``exercises`` as a reader uses them."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.exercises.catalogue import resolve
from minisgl_tutor.exercises.drills.lifecycle.judge import Check

FOLDER = resolve("7").path


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(sys, "argv", ["/opt/tutor/bin/minisgl-tutor"])


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    captured = capsys.readouterr()
    return int(ended.value.code or 0), captured.out + captured.err


def test_start_never_overwrites(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "minisgl-exercises" / "exercise-7.py"
    status, text = run(capsys, "start", "exercise-7")
    assert status == 0
    assert text.splitlines() == [
        "minisgl-exercises/exercise-7.py is yours now. "
        "Its task: whatever ends a request, nothing of it may stay behind.",
        "What is asked: minisgl-exercises/exercise-7.md",
        "",
        "Next:",
        "  /opt/tutor/bin/minisgl-tutor read exercise-7    shows here what is asked",
        "  /opt/tutor/bin/minisgl-tutor check exercise-7",
        "      judges the file, when you have changed it",
    ]
    text_file = file.with_suffix(".md")
    assert "Exercise 7" in text_file.read_text("utf-8")
    text_file.write_text("my notes")
    file.with_suffix(".zh.md").unlink()
    file.write_text("mine")
    status, text = run(capsys, "start", "7")
    assert (status, text.splitlines()[0]) == (
        0,
        "minisgl-exercises/exercise-7.py is there already and stays as it is.",
    )
    assert (file.read_text(), text_file.read_text()) == ("mine", "my notes")
    assert file.with_suffix(".zh.md").is_file()


@pytest.mark.parametrize("command", ["start", "check"])
def test_an_unknown_exercise_is_one_sentence(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run(capsys, command, "99")[0] == 2
    assert run(capsys, command, "99")[1].startswith("Error: there is no exercise '99'; there are: ")


def test_check_starts_an_exercise_and_says_what_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = run(capsys, "check", "5.7", "--seed", "4")
    assert status == 1
    lines = text.splitlines()
    trace = "/opt/tutor/bin/minisgl-tutor trace minisgl-exercises/.failures/exercise-7-end-streaming.jsonl"
    look = re.compile(f"  look       {trace} --yours minisgl-exercises/exercise-7.py --from-step [0-9]+")
    assert look.fullmatch(lines.pop(6))
    # What never goes does not come back either.
    others = [check.value for check in Check if check not in (Check.END_STREAMING, Check.LATE_REPLIES)]
    assert lines == [
        "There was no minisgl-exercises/exercise-7.py; "
        "the starter has been put there, and is judged as it is.",
        "exercise-7: not yet right. The first check that fails:",
        "  check      end-streaming: a streamed answer ends normally",
        "  expected   nothing of request 0 is kept when the call that served it has returned",
        "  seen       still kept at the end of that instant: ack_map, event_map",
        "  schedule   1 client. request 0: streaming, 1 reply; its client reads all of it",
        f"Also failing: {', '.join(others)}.",
        "The random schedules came from seed 4; `--seed 4` plays the same ones again.",
        "What is asked: minisgl-exercises/exercise-7.md",
        "",
        "Next:",
        "  /opt/tutor/bin/minisgl-tutor hint exercise-7   helps, three times at most",
    ]


def test_the_trace_command_opens_at_the_step_that_shows_the_fault(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, text = run(capsys, "check", "7", "--seed", "4")
    command = next(line for line in text.splitlines() if line.startswith("  look")).split()[2:]
    _, text = run(capsys, *command, "--json")
    steps = [json.loads(line) for line in text.splitlines()]
    shown = [step for step in steps if step.get("number") == int(command[-1])]
    assert [step["title"] for step in shown] == ["completed"]
    assert shown[0]["after"]["api"]["0"].keys() == {"ack_map", "event_map"}


def test_a_solution_passes_and_the_list_says_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    def state() -> str:
        lines = run(capsys, "exercises")[1].splitlines()
        return next(line for line in lines if line.startswith("exercise-7 ")).rstrip()

    assert state().endswith(" not started")
    assert run(capsys, "exercises")[1].endswith(" start exercise-2.1   begins it\n")
    (tmp_path / "minisgl-exercises").mkdir()
    shutil.copy(FOLDER / "solutions" / "life_object.py", "minisgl-exercises/exercise-7.py")
    assert state().endswith("   started")
    status, text = run(capsys, "check", "exercise-7", "--seed", "4")
    assert (status, re.sub(r"\d+ schedules", "N schedules", text).splitlines()) == (
        0,
        [
            "minisgl-exercises/exercise-7.py is being judged.",
            "exercise-7: right. All 14 checks pass (N schedules, seed 4).",
            f"Other designs that pass: {FOLDER / 'solutions'}",
            f"Fixes that look right, and what they miss: {FOLDER / 'wrong'}",
            "",
            "Next:",
            "  /opt/tutor/bin/minisgl-tutor start exercise-7b   Prove that nothing stays",
        ],
    )
    assert state().endswith(" passed")
    with Path("minisgl-exercises/exercise-7.py").open("a") as file:
        file.write("# a change\n")
    assert state().endswith("changed since it passed")


def test_start_and_check_use_the_folder_above(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(capsys, "start", "7")
    file = tmp_path / "minisgl-exercises" / "exercise-7.py"
    file.write_text("x = (")
    below = tmp_path / "notes"
    below.mkdir()
    monkeypatch.chdir(below)
    assert run(capsys, "start", "7")[1].startswith(f"{file} is there already")
    status, text = run(capsys, "check", "7")
    assert (status, text.splitlines()[0]) == (1, f"{file} is being judged.")
    assert f"What is asked: {file.with_suffix('.md')}" in text.splitlines()
    assert list(below.iterdir()) == []


def test_hints_come_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    shown = [run(capsys, "hint", "5.4")[1].splitlines() for _ in range(4)]
    assert [lines[0][:13] for lines in shown] == [
        "Hint 1 of 3: ",
        "Hint 2 of 3: ",
        "Hint 3 of 3: ",
        "Hint 3 of 3: ",
    ]
    assert "--give-up" in shown[2][1] and "--give-up" not in shown[0][1]


def test_a_solution_is_shown_to_who_passed_or_gave_up(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = run(capsys, "solution", "5.4")
    assert status == 2 and "--give-up" in text
    status, text = run(capsys, "solution", "5.4", "--give-up")
    assert status == 0 and "class MyFrontendManager" in text


def test_diff_and_reset(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "diff", "5.4")[0] == 2
    run(capsys, "start", "5.4")
    assert "unchanged" in run(capsys, "diff", "5.4")[1]
    file = Path("minisgl-exercises/exercise-4.py")
    file.write_text(file.read_text() + "# mine [bold]\n")
    assert "+# mine [bold]" in run(capsys, "diff", "5.4")[1]
    assert "exercise-4.py.1" in run(capsys, "reset", "5.4")[1]
    assert "already" in run(capsys, "reset", "5.4")[1]
    assert Path("minisgl-exercises/exercise-4.py.1").read_text().endswith("# mine [bold]\n")


def test_json_is_what_an_exercism_test_runner_writes(capsys: pytest.CaptureFixture[str]) -> None:
    status, text = run(capsys, "check", "5c.5", "--json", "--seed", "1")
    verdict = json.loads(text)
    assert (status, verdict["version"], verdict["status"], verdict["message"]) == (1, 2, "fail", None)
    first = verdict["tests"][0]
    assert (first["name"], first["status"]) == ("one-after-another", "fail")
    assert first["message"] == "you said yes" or first["message"] == "you said no"
    assert {test["status"] for test in verdict["tests"]} == {"pass", "fail"}


def test_several_are_checked_and_reported(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, text = run(capsys, "check", "5c.2", "5c.5", "--report", "report.json", "--lang", "zh")
    assert status == 1 and "共 2 题，正确 0 题。" in text
    report = json.loads((tmp_path / "report.json").read_text())
    assert set(report["exercises"]) == {"5c.2", "5c.5"}


@pytest.mark.parametrize("arguments", [(), ("--all", "5.4"), ("--chapter", "9"), ("5.4", "--lang", "xx")])
def test_what_is_to_be_checked_must_be_clear(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    status, text = run(capsys, "check", *arguments)
    assert status == 2 and text.startswith("Error: ")


def test_all_are_those_that_have_been_begun(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, text = run(capsys, "check", "--all")
    assert status == 2 and "none of these has been begun" in text
    run(capsys, "start", "5c.5")
    status, text = run(capsys, "check", "--chapter", "5", "--seed", "1")
    assert status == 1 and text.splitlines()[0].startswith("Not begun, and not judged: exercise-5c.1, ")
    assert "What is asked: minisgl-exercises/exercise-5c.5.md" in text.splitlines()
    assert [file.name for file in (tmp_path / "minisgl-exercises").glob("*.py")] == ["exercise-5c.5.py"]
