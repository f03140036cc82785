"""What commands tell, at the edge of a terminal."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from minisgl_tutor.cli import told
from minisgl_tutor.cli.main import main
from minisgl_tutor.cli.told import fitted, tell, tell_next
from minisgl_tutor.language import ENGLISH, verbatim

WORDS = st.lists(st.text("ab缓存", min_size=1, max_size=9), min_size=1).map(" ".join)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "program", lambda: "tutor")


@given(WORDS, st.integers(24, 40))
def test_no_line_is_too_wide_and_no_word_is_lost(text: str, width: int) -> None:
    lines = fitted(text, width).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")
    assert all(line.startswith("  ") for line in lines[1:])


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("short", ["short"]),
        ("Error: one two three four", ["Error: one two three", "       four"]),
        ("错误：没有 exercise-99 这个", ["错误：没有", "      exercise-99 这", "      个"]),
        ("  seen   one two three four", ["  seen   one two", "         three four"]),
        ("one two three four five", ["one two three four", "  five"]),
        ("one two\nError: three four five six", ["one two", "Error: three four", "       five six"]),
        ("      one two three four", ["      one two three", "      four"]),
        ("one two /a/path/of/many/folders six", ["one two", "  /a/path/of/many/folders", "  six"]),
        ("one two three `four five`", ["one two three", "  `four five`"]),
    ],
)
def test_further_lines_are_set_in(text: str, lines: list[str]) -> None:
    assert fitted(text, 20).splitlines() == lines


def test_a_command_can_be_copied_from_where_it_stands() -> None:
    command = "tutor trace 'a b/c d.jsonl' --yours x.py --from-step 10"
    lines = fitted(f"  look   {command}", 34).splitlines()
    assert lines[0] == "  look   tutor trace \\" and len(lines) == 4
    pasted = "\n".join([lines[0].removeprefix("  look   "), *lines[1:]])
    assert shlex.split(pasted.replace("\\\n", "")) == shlex.split(command)


def test_a_file_has_it_as_it_is_and_a_terminal_in_lines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    tell("one two three")
    assert capsys.readouterr().out == "one two three\n"
    monkeypatch.setattr(sys, "stderr", Screen())
    tell("one two three", err=True)
    assert sys.stderr.getvalue() == "one two\n  three\n"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "line",
    [
        "start 7",
        "start 99",
        "hint 7",
        "check 7 --seed 4",
        "check --all",
        "read 5 nope",
        "gaps early-slot",
        "gaps nope",
        "trace --chapter 5 --scene nope",
        "chat hello --url http://127.0.0.1:1",
        "serve --gap nope",
    ],
)
def test_nothing_is_broken_within_a_word_at_80_columns(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str, line: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    for stream in ("stdout", "stderr"):
        monkeypatch.setattr(sys, stream, Screen())
    with pytest.raises(SystemExit):
        main(["--lang", language, *line.split()])
    lines = [*sys.stdout.getvalue().splitlines(), *sys.stderr.getvalue().splitlines()]
    too_wide = [each for each in lines if cell_len(each) > 80]
    assert lines and not [each for each in too_wide if len(each.split()) > 1]


def test_what_to_do_next_stands_beside_the_command_or_below(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "28")
    tell_next({"read 2": verbatim("a chapter"), "gaps": verbatim("faults, quite many")}, ENGLISH)
    assert capsys.readouterr().out.splitlines() == [
        "Next:",
        "  tutor read 2   a chapter",
        "  tutor gaps",
        "      faults, quite many",
    ]
