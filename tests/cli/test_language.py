"""``minisgl-tutor language``, and what else decides in which language the program speaks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minisgl_tutor.cli.main import main
from minisgl_tutor.cli.setting import SettingError, keep_language, set_language, setting_file
from minisgl_tutor.language import LANGUAGES, VARIABLE


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty one, and an environment that says nothing of languages."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in (VARIABLE, "LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["language", *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out.strip()


def test_it_says_what_has_chosen(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(capsys) == "English: nothing else is asked for"
    monkeypatch.setenv("LANG", "zh_CN.UTF-8")
    assert said(capsys) == "中文：由环境变量 LANG 决定"
    assert said(capsys, "en").startswith("From now on: English")
    assert said(capsys) == f"English: set in {setting_file()}"
    monkeypatch.setenv(VARIABLE, "zh")
    assert said(capsys) == f"中文：由环境变量 {VARIABLE} 决定"
    assert said(capsys, "--lang", "en") == "English: --lang on this line says so"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_language_is_kept_until_it_is_taken_back(
    language: str, capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    said(capsys, language)
    assert set_language() == language
    assert setting_file().is_relative_to(home)
    said(capsys, "auto")
    assert set_language() is None
    assert not setting_file().exists()
    said(capsys, "auto")


def test_a_variable_that_goes_before_it_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "en")
    assert VARIABLE in said(capsys, "zh")


@pytest.mark.parametrize(
    "content", [b"language = [", b"\xff\xfe", b'language = "fr"\n', b"", b"language = 3"]
)
def test_a_file_that_says_something_else_is_one_sentence_and_no_end(
    content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    setting_file().parent.mkdir()
    setting_file().write_bytes(content)
    with pytest.raises(SettingError):
        set_language()
    with pytest.raises(SystemExit) as ended:
        main(["language"])
    assert ended.value.code == 0
    (line,) = capsys.readouterr().err.splitlines()
    assert str(setting_file()) in line and "language auto" in line
    said(capsys, "zh")
    assert set_language() == "zh"


def test_a_folder_that_cannot_be_written_is_one_sentence(
    capsys: pytest.CaptureFixture[str], home: Path
) -> None:
    (home / "minisgl-tutor").write_text("in the way")
    with pytest.raises(SettingError, match="cannot be written"):
        keep_language("zh")
    with pytest.raises(SystemExit) as ended:
        main(["language", "zh"])
    assert ended.value.code == 1


def test_the_setting_goes_before_the_locale_for_every_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LANG", "en_US.UTF-8")
    keep_language("zh")
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "用法" in capsys.readouterr().out


def test_what_a_command_starts_speaks_its_language(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str | None] = []
    monkeypatch.setattr("minisgl_tutor.cli.main.app", lambda *_, **__: seen.append(os.environ.get(VARIABLE)))
    for arguments in (["gaps"], ["gaps", "--lang", "zh"]):
        with pytest.raises(SystemExit):
            main(arguments)
    assert seen == ["en", "zh"]
    assert VARIABLE not in os.environ
