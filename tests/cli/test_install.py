"""What a command says where a part of the package is missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from minisgl_tutor.cli import install
from minisgl_tutor.cli.fail import Failure
from minisgl_tutor.language import Sentence


@pytest.fixture
def checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "constraints.txt").touch()
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.setattr(install, "PACKAGE_DIR", tmp_path / "minisgl_tutor")
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv/bin/python"))
    return tmp_path


def test_in_a_checkout_it_keeps_to_the_constraints(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(checkout)
    line = ".venv/bin/python -m pip install -c constraints.txt -e"
    assert install.install_command("engine") == f"{line} '.[engine]'"
    assert install.install_command() == f"{line} ."


def test_from_another_folder_the_paths_are_whole(
    checkout: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    python = checkout / ".venv/bin/python"
    line = f"{python} -m pip install -c {checkout}/constraints.txt -e '{checkout}[engine]'"
    assert install.install_command("engine") == line


def test_an_installed_package_is_installed_by_its_name(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(checkout)
    (checkout / "constraints.txt").unlink()
    assert install.install_command("gpu") == ".venv/bin/python -m pip install 'minisgl-tutor[gpu]'"


def test_a_command_without_torch_ends_with_the_line_to_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(install, "find_spec", lambda name: None)
    with pytest.raises(Failure) as ended:
        install.need_engine(Sentence("flying"))
    assert ended.value.status == 1
    line = str(ended.value.sentence)
    assert line.startswith("flying needs torch, which is not installed; run: ")
    assert line.endswith(install.install_command("engine"))
