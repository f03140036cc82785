"""``read`` shows the chapter that was asked for, in the reader's language."""

from __future__ import annotations

from pathlib import Path

import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.views import chapter


@pytest.fixture(autouse=True)
def chapters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "02-journey"
    folder.mkdir()
    (folder / "README.md").write_text("# The journey\n", "utf-8")
    (folder / "README.zh.md").write_text("# 旅程\n", "utf-8")
    (folder / "concepts.md").write_text("# What stands behind it\n", "utf-8")
    (folder / "concepts.zh.md").write_text("# 背后的概念\n", "utf-8")
    monkeypatch.setattr(chapter, "chapters_dir", lambda: tmp_path)


def test_a_chapter_in_english_and_in_chinese(capsys: pytest.CaptureFixture[str]) -> None:
    for lang, words in (("en", "The journey"), ("zh", "旅程")):
        with pytest.raises(SystemExit) as ended:
            main(["read", "2", "--lang", lang])
        assert not ended.value.code and words in capsys.readouterr().out


def test_another_page_of_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["read", "2", "concepts", "--lang", "en"])
    assert not ended.value.code and "What stands behind it" in capsys.readouterr().out


def test_without_a_name_the_pages_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["read", "--lang", "zh"])
    lines = capsys.readouterr().out.splitlines()
    assert not ended.value.code
    assert [line.split(" read ")[1].split("  ")[0] for line in lines] == ["2", "2 concepts", "exercise-7"]
    assert "旅程" in lines[0] and "背后的概念" in lines[1]


@pytest.mark.parametrize(("lang", "title"), [("en", "Exercise 7: end each request once"), ("zh", "练习 7")])
def test_what_an_exercise_asks(lang: str, title: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["read", "exercise-7", "--lang", lang])
    out = capsys.readouterr().out
    assert not ended.value.code and title in out and "<!--" not in out


def test_the_locale_decides_if_nothing_is_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINISGL_TUTOR_LANG", "zh")
    with pytest.raises(SystemExit):
        main(["read", "2"])
    assert "旅程" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["3"],
            "chapter 3 has no text; the chapters that have one are: 2; "
            "an exercise has its whole name here, such as exercise-7",
        ),
        (["2", "none"], "chapter 2 has no page 'none'; its pages beside the first one are: concepts"),
        (["exercise-7", "concepts"], "an exercise has one page; leave 'concepts' out"),
        (["2", "--lang", "fr"], "--lang takes en or zh, not 'fr'"),
    ],
)
def test_what_is_not_there_is_one_sentence(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["read", *arguments])
    assert ended.value.code == 2 and capsys.readouterr().err == f"Error: {sentence}\n"
