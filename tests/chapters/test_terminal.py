"""The terminal that the commands of the pages are typed into, its screen, and its servers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from full_screen import first_screen
from running_server import Server, Servers
from terminal import Terminal

MENU = r"""
import sys, tty
tty.setraw(0)
print("\x1b[2J\x1b[Htop\x1b[5;3H字 below", end="", flush=True)
sys.exit(0 if sys.stdin.read(1) == "q" else 1)
"""


@pytest.fixture
def terminal(tmp_path: Path) -> Terminal:
    return Terminal("zh", tmp_path, Servers())


def screen(program: str, folder: Path) -> str:
    return first_screen([sys.executable, "-c", program], folder, os.environ, 20, 5)


def test_a_screen_is_what_a_reader_sees(tmp_path: Path) -> None:
    assert screen(MENU, tmp_path) == "top\n\n\n\n  字 below\n"


@pytest.mark.parametrize("program", ["print('broken')", "import sys; sys.exit('broken')"])
def test_a_program_without_a_screen_is_an_error_with_what_it_said(tmp_path: Path, program: str) -> None:
    with pytest.raises(RuntimeError, match="no screen: broken"):
        screen(program, tmp_path)


def test_a_screen_that_ends_badly_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"status 1: top"):
        screen(MENU.replace('"q"', '"x"'), tmp_path)


def test_a_server_that_does_not_start_is_an_error_with_what_it_said() -> None:
    with pytest.raises(RuntimeError, match="--no-such"):
        Server(["serve", "--no-such"], os.environ)


def test_a_command_runs_in_the_folder_and_the_language_of_the_reader(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINISGL_TUTOR_LANG", "en")
    here = Path.cwd()
    typed = terminal.type(".venv/bin/minisgl-tutor start 2.4   # a remark")
    assert typed.status == 0 and "任务" in typed.output
    assert (tmp_path / "minisgl-exercises" / "exercise-2.4.py").is_file()
    assert (Path.cwd(), os.environ["MINISGL_TUTOR_LANG"]) == (here, "en")


def test_what_goes_wrong_is_part_of_the_output(terminal: Terminal) -> None:
    typed = terminal.type("minisgl-tutor start 99")
    assert typed.status == 2 and "99" in typed.output


def test_other_programs_run_in_the_checkout(terminal: Terminal) -> None:
    assert len(terminal.type("ls README.md nothing").output.splitlines()) == 2
    assert terminal.type("ls README.md | cat").output == "README.md\n"


def test_a_program_is_interrupted_once_it_has_printed_something(terminal: Terminal) -> None:
    typed = terminal.type("echo one; sleep 600", interrupted=True)
    assert typed.output == "one\n^C\n" and typed.status != 0
