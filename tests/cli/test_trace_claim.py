"""``trace --claim`` plays the scene of a statement, from the step that shows it."""

from __future__ import annotations

import json

import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.language import Sentence, Tongue
from minisgl_tutor.trace.claims import claim, read_claims
from tests.language.english import english_left


def played(capsys: pytest.CaptureFixture[str], number: str) -> tuple[list[dict], str]:
    with pytest.raises(SystemExit) as ended:
        main(["trace", "--claim", number, "--json"])
    assert not ended.value.code
    out, err = capsys.readouterr()
    return [json.loads(line) for line in out.splitlines()], err


@pytest.mark.parametrize(
    ("number", "gaps", "title"),
    [("C5.16", [], "AbortMsg"), ("C5.134", ["late-abort"], "left"), ("C5.163", ["silent-drop"], "UserMsg")],
)
def test_it_begins_at_the_step_that_shows_it(
    capsys: pytest.CaptureFixture[str], number: str, gaps: list[str], title: str
) -> None:
    lines, err = played(capsys, number)
    assert lines[0]["gaps"] == gaps and lines[1]["title"] == title
    assert err.startswith(f"{number}: {claim(number).says}")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--claim", "C9.1"], "there is no claim 'C9.1'"),
        (["--claim", "C5.54"], "no scene shows it; tests/server/test_frontend.py::"),
        (["--claim", "C5.72"], "no scene shows it; exercise exercise-3 does"),
        (["--claim", "K5.72"], "there is nothing to play: Boxes with folded answers stand in "),
        (["--claim", "C5.16", "--chapter", "5"], "give it alone"),
        (["--claim", "C5.16", "--fixed"], "give it alone"),
        (["--claim", "C5.16", "--gap", "late-abort"], "give it alone"),
    ],
)
def test_one_sentence(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["trace", *arguments])
    assert ended.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert line.startswith("Error: ") and words in line


def test_every_statement_is_said_in_chinese() -> None:
    say = Tongue("zh")
    for family in read_claims().values():
        for each in family.values():
            for text in filter(None, (each.says, each.note, each.about)):
                assert say(Sentence(text)) != text and english_left(say(Sentence(text))) == []


def test_a_statement_is_told_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--lang", "zh", "trace", "--claim", "C5.134", "--json"])
    assert capsys.readouterr().err == "C5.134：中止先等十分之一秒。这是已经修好的缺陷。\n"
