"""Whether output goes through a pager is the reader's to say, as it is for git."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest

from minisgl_tutor.cli.pager import pager_of


@pytest.mark.parametrize(
    ("environment", "is_terminal", "command"),
    [
        ({}, True, "less"),
        ({}, False, ""),
        ({"PAGER": "more -s"}, True, "more -s"),
        ({"PAGER": ""}, True, ""),
        ({"PAGER": " cat "}, True, ""),
    ],
)
def test_which_pager(environment: dict[str, str], is_terminal: bool, command: str) -> None:
    assert pager_of(environment, is_terminal) == command


def on_a_terminal(pager: str, *options: str) -> tuple[str, int]:
    """What a trace shows on a terminal, and its exit status."""
    words = [
        sys.executable,
        "-m",
        "minisgl_tutor",
        "trace",
        "--chapter",
        "5",
        "--scene",
        "normal-end",
        *options,
    ]
    master, slave = pty.openpty()
    process = subprocess.Popen(
        words, stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "PAGER": pager, "TERM": "xterm"}
    )
    os.close(slave)
    shown = b""
    while select.select([master], [], [], 60)[0]:
        try:
            shown += os.read(master, 65536)
        except OSError:  # the other end is closed
            break
    os.close(master)
    return shown.decode(), process.wait()


def test_the_pager_gets_it_and_may_be_quit(tmp_path: Path) -> None:
    file = tmp_path / "seen"
    shown, status = on_a_terminal(f"head -n 2 > {file}")
    assert "Next:" in shown.splitlines()[0] and status == 0
    assert "A block is a hop" in file.read_text("utf-8") and "A block is a hop" not in shown


def test_without_a_pager_it_is_printed() -> None:
    shown, status = on_a_terminal("false", "--no-pager")
    assert "A block is a hop" in shown and status == 0
