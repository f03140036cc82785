"""``trace`` with what cannot be played: one sentence and status 2."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from minisgl_tutor.cli.main import main
from tests.language.english import english_left


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say what to play"),
        (["--chapter", "5", "file"], "not both"),
        (["--chapter", "-1"], "chapter -1 has no scenes"),
        (["--chapter", "9" * 20], "has no scenes"),
        (["--scene", "normal-end"], "needs its chapter"),
        (["--chapter", "5", "--scene", "nope"], "its scenes are: normal-end"),
        (["--chapter", "5", "--gap", "nope"], "the gaps are"),
        (["--chapter", "5", "--gap", "early-break", "--fixed"], "opposite things"),
        (["--chapter", "5", "--spec-version", "two"], "'two' is no ASGI version"),
        (["--chapter", "5", "--spec-version", "2.4.1"], "no ASGI version"),
        (["--chapter", "5", "--tokenizer", "/nonexistent"], "there is no model at /nonexistent"),
        (["--chapter", "5", "--yours", "/nonexistent"], "/nonexistent cannot be read"),
        (["/"], "Is a directory"),
        (["/nonexistent"], "No such file"),
        (["/dev/null"], "not a recording"),
        (["BINARY"], "line 1"),
        (["CUT"], "not a recording"),
    ],
)
def test_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    files = {"BINARY": tmp_path / "binary", "CUT": tmp_path / "cut"}
    files["BINARY"].write_bytes(bytes(range(256)) * 9)
    files["CUT"].write_bytes(b'{"kind":"header","version":1,')
    with pytest.raises(SystemExit) as ended:
        main(["trace", *(str(files.get(argument, argument)) for argument in arguments)])
    (line,) = capsys.readouterr().err.splitlines()
    assert ended.value.code == 2
    assert line.startswith("Error: ") and words in line


def test_a_reader_that_has_gone_ends_it_quietly() -> None:
    reading, writing = os.pipe()
    command = [sys.executable, "-m", "minisgl_tutor", "trace", "--chapter", "5", "--no-pager"]
    process = subprocess.Popen(command, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    os.read(reading, 2000)
    os.close(reading)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (1, b"")


def test_what_a_program_reads_is_english_whatever_the_language(capsys: pytest.CaptureFixture[str]) -> None:
    told = []
    for language in ("en", "zh"):
        with pytest.raises(SystemExit):
            main(["--lang", language, "trace", "--gap", "double-free", "--json"])
        told.append(capsys.readouterr().out)
    assert told[0] == told[1] and "the books do not add up: slot 0 is free" in told[0]


@pytest.mark.parametrize(
    "arguments", [["--chapter", "9"], ["--gap", "nope"], ["--fixed", "--gap", "late-abort"]]
)
def test_a_mistake_is_told_in_chinese(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--lang", "zh", "trace", *arguments])
    said = capsys.readouterr().err
    assert said.startswith("错误：") and english_left(said) == []


@pytest.mark.parametrize(
    ("arguments", "next_ones"),
    [
        (["--chapter", "2"], ["--chapter 2 --fixed", "--chapter 2 --step"]),
        (["--chapter", "2", "--fixed"], ["--chapter 2", "--chapter 2 --step"]),
        (["--chapter", "5"], ["--chapter 5 --fixed", "--chapter 5 --scene NAME", "--chapter 5 --step"]),
        (["--gap", "silent-drop"], ["--gap silent-drop --step"]),
        (["chapters/gaps/scenes/double-free.jsonl"], []),
    ],
)
def test_what_comes_next(
    capsys: pytest.CaptureFixture[str], arguments: list[str], next_ones: list[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["trace", *arguments, "--from-step", "999"])
    assert ended.value.code == 0
    _, _, behind = capsys.readouterr().out.partition("Next:\n")
    assert [
        line.split(" trace ")[1].split("   ")[0] for line in behind.splitlines() if " trace " in line
    ] == (next_ones)
