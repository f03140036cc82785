"""Into which folders the site is built."""

from __future__ import annotations

from pathlib import Path

import build_site
import pytest
from tutor_site.words import WORDS, Language


@pytest.mark.parametrize("there", [[], ["index.html", "en/page.html", "traces/a.html"]])
def test_an_older_site_makes_room(tmp_path: Path, there: list[str]) -> None:
    for name in there:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert build_site.make_room(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("there", [["notes.txt"], ["index.html", "notes.txt"], ["en/page.html"]])
def test_anything_else_stays(tmp_path: Path, there: list[str]) -> None:
    for name in there:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    assert not build_site.make_room(tmp_path)
    assert all((tmp_path / name).is_file() for name in there)


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    assert build_site.make_room(tmp_path / "new" / "site")
    assert (tmp_path / "new" / "site").is_dir()


@pytest.mark.parametrize("language", ["en", "zh"])
def test_whoever_runs_it_is_told_in_their_language(
    language: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINISGL_TUTOR_LANG", language)
    assert build_site.words() is WORDS[language]
