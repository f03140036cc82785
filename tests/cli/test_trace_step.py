"""Where ``trace --step`` cannot be shown: one sentence that says what to do. And the names of forks."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from minisgl_tutor.cli import trace_step
from minisgl_tutor.cli.fail import Failure
from minisgl_tutor.cli.main import main
from minisgl_tutor.recording import read_recording
from minisgl_tutor.trace.scenes import scenes_of


class Terminal:
    """A stream that is one."""

    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 1


@pytest.fixture
def terminal(monkeypatch):
    """A terminal of 80 x 24 that can place text."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(os, "get_terminal_size", lambda fd: os.terminal_size((80, 24)))
    return monkeypatch


def refused(terminal) -> str:
    with terminal.context() as streams, pytest.raises(Failure) as ended:
        streams.setattr(sys, "stdin", Terminal())
        streams.setattr(sys, "stdout", Terminal())
        trace_step.check_screen()
    assert ended.value.status == 2
    return str(ended.value)


def test_a_pipe(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["trace", "--chapter", "5", "--step"])
    assert ended.value.code == 2
    assert "--step needs a terminal, and this is a pipe or a file" in capsys.readouterr().err


def test_a_terminal_that_cannot_place_text(terminal):
    terminal.setenv("TERM", "dumb")
    assert "TERM says that this one cannot" in refused(terminal)


def test_a_small_terminal(terminal):
    terminal.setattr(os, "get_terminal_size", lambda fd: os.terminal_size((79, 24)))
    assert "80 columns and 24 rows, and this terminal has 79 and 24" in refused(terminal)


def test_textual_is_missing(terminal):
    terminal.setattr(trace_step, "find_spec", lambda name: None)
    assert "the package textual, which is not installed" in refused(terminal)


@pytest.mark.parametrize("option", [["--json"], ["--html", "x.html"], ["--perfetto", "x.json"]])
def test_a_screen_and_a_file_at_once(capsys, option):
    with pytest.raises(SystemExit):
        main(["trace", "--chapter", "5", "--step", *option])
    assert "--step shows the steps on a screen" in capsys.readouterr().err


def test_forks_are_numbered_and_none_is_written_over(tmp_path: Path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    recording = read_recording(scenes_of(5, "normal-end")[0].path)
    Path("run-fork-1.jsonl").write_text("mine")
    assert str(trace_step.save_fork("run", recording)) == "run-fork-2.jsonl"
    assert str(trace_step.save_fork("run", recording)) == "run-fork-3.jsonl"
    assert Path("run-fork-1.jsonl").read_text() == "mine"
    assert read_recording(Path("run-fork-2.jsonl")) == recording
