"""``gaps`` lists every fault and explains each; ``trace --gap`` alone plays the scene of one."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from rich.cells import cell_len

from minisgl_tutor.cli.main import main
from minisgl_tutor.gaps import GAPS
from minisgl_tutor.recording import read_recording
from minisgl_tutor.trace.scenes import scene_of_gap, scenes_of
from tests.language.english import english_left


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert not ended.value.code
    return capsys.readouterr().out


def test_the_list_has_all_of_them(capsys: pytest.CaptureFixture[str]) -> None:
    lines = told(capsys, "gaps").splitlines()
    for gap in GAPS:
        (line,) = (line for line in lines if line.startswith(f"{gap.name} "))
        assert str(gap.summary)[:30] in line and line.endswith(f"  {gap.shown_by}".ljust(10))


@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: gap.name)
def test_each_is_explained_with_a_scene_that_can_be_played(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, gap
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    text = told(capsys, "gaps", gap.name)
    explanation = str(gap.explanation)
    assert explanation in text and gap.code in text and explanation.endswith((".", ")"))
    (words,) = (line.split(" trace ")[1].split() for line in text.splitlines() if "--fixed" in line)
    if words[0] == "--chapter":
        ((_, chapter), (_, scene)) = zip(words[:4:2], words[1:4:2], strict=True)
        assert scenes_of(int(chapter), scene)[0].path == scene_of_gap(gap.name)
    else:
        assert read_recording(Path(words[0])).lines


def test_an_unknown_one_names_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["gaps", "nope"])
    assert ended.value.code == 2
    assert "double-free" in capsys.readouterr().err


def test_a_gap_without_chapter_or_file_plays_its_own_scene(capsys: pytest.CaptureFixture[str]) -> None:
    text = told(capsys, "trace", "--gap", "leaked-stop")
    assert "GAP leaked-stop  C5.45" in text


@pytest.mark.parametrize("arguments", [["gaps"], ["gaps", "freed-and-cached"]])
def test_in_chinese_no_english_sentence_is_left(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    said = told(capsys, "--lang", "zh", *arguments)
    commands = [line for line in said.splitlines() if " trace " in line]
    assert english_left(said) == [] and len(commands) in (1, 2)
    assert max(cell_len(line) for line in said.splitlines() if line not in commands) <= 80


def test_the_list_says_what_its_columns_mean(capsys: pytest.CaptureFixture[str]) -> None:
    said = told(capsys, "gaps")
    assert "In the reference, as the chapters tell\n" in said and "Found by: the auditor" in said


@pytest.mark.parametrize("columns", [80, 120])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_list_takes_two_lines_a_gap_at_most(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, lang: str, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    listed = told(capsys, "--lang", lang, "gaps").rpartition("\n\n")[0].splitlines()
    assert max(map(cell_len, listed)) <= columns
    assert not [lines for lines in pairwise(listed) if all(line.startswith(" ") for line in lines)]
