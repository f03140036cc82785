"""The name by which the printed commands call the program."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

import pytest

from minisgl_tutor.cli.program import program


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))


def script(folder: Path) -> Path:
    folder.mkdir(parents=True)
    file = folder / "minisgl-tutor"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def started(monkeypatch: pytest.MonkeyPatch, path: Path | str) -> None:
    monkeypatch.setattr(sys, "argv", [str(path)])


def in_path(monkeypatch: pytest.MonkeyPatch, *folders: Path) -> None:
    monkeypatch.setenv("PATH", ":".join(map(str, folders)))


def test_what_the_shell_finds_is_called_by_its_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = script(tmp_path / "bin")
    in_path(monkeypatch, file.parent)
    started(monkeypatch, file)
    assert program() == "minisgl-tutor"


def test_a_link_in_the_path_to_the_script_will_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = script(tmp_path / "tools" / "bin")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "minisgl-tutor").symlink_to(file)
    in_path(monkeypatch, tmp_path / "bin")
    started(monkeypatch, file)
    assert program() == "minisgl-tutor"


def test_a_module_of_the_installation_that_the_shell_finds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = script(tmp_path / "bin")
    in_path(monkeypatch, file.parent)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(file.parent))
    started(monkeypatch, "/lib/minisgl_tutor/__main__.py")
    assert program() == "minisgl-tutor"


def test_another_installation_is_not_taken_for_this_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    in_path(monkeypatch, script(tmp_path / "other").parent)
    started(monkeypatch, script(tmp_path / ".venv" / "bin"))
    assert program() == ".venv/bin/minisgl-tutor"


@pytest.mark.parametrize(
    ("path", "typed"),
    [
        (".venv/bin/minisgl-tutor", ".venv/bin/minisgl-tutor"),
        ("./minisgl-tutor", "./minisgl-tutor"),
        ("/opt/my tools/minisgl-tutor", "'/opt/my tools/minisgl-tutor'"),
    ],
)
def test_a_script_by_its_path(monkeypatch: pytest.MonkeyPatch, path: str, typed: str) -> None:
    started(monkeypatch, path)
    assert program() == typed


def test_a_module_by_its_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started(monkeypatch, "/lib/minisgl_tutor/__main__.py")
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    assert program() == ".venv/bin/python -m minisgl_tutor"
    python = script(tmp_path / "path").rename(tmp_path / "path" / "python")
    assert program() == ".venv/bin/python -m minisgl_tutor"
    monkeypatch.setattr(sys, "executable", str(python))
    assert program() == "python -m minisgl_tutor"
