"""A bar on a terminal, lines elsewhere, nothing on standard output."""

from __future__ import annotations

import io
import logging
import sys

import pytest

from minisgl_tutor.language import VARIABLE, Sentence
from minisgl_tutor.progress import LINE_EVERY_S, progress

LOADING = Sentence("loading")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def work(clock: Clock, steps: int = 4, rank: int = 0) -> None:
    with progress(LOADING, steps, rank, clock) as advance:
        for _ in range(steps):
            clock.now += LINE_EVERY_S / 2
            advance(1)


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    work(Clock())
    assert "loading" in terminal.getvalue() and "100%" in terminal.getvalue()
    assert capsys.readouterr().out == ""
    terminal.truncate(0)
    work(Clock(), rank=1)  # its neighbour draws the bar
    assert terminal.getvalue() == ""


def test_lines_elsewhere(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    caplog.set_level(logging.INFO, "minisgl_tutor")
    work(Clock())
    # One in the middle, as so much time has passed; the last step is the end.
    assert caplog.messages == ["loading: 50 %", "loading: done in 20.0 s"]
    assert capsys.readouterr() == ("", "")


def test_a_work_that_fails_is_not_done(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "minisgl_tutor")
    with pytest.raises(KeyError), progress(LOADING, 3, clock=Clock()):
        raise KeyError
    assert not caplog.messages


def test_the_bar_speaks_the_language_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv(VARIABLE, "zh")
    with progress(Sentence("loading the weights"), 1) as advance:
        advance(1)
    assert "加载权重" in terminal.getvalue()
