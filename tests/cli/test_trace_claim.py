"""``trace --claim`` plays the scene of a statement, from the step that shows it."""

from __future__ import annotations

import json

import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.trace.claims import claim


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
        (["--claim", "K5.72"], "there is nothing to play: They stand in the text."),
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
