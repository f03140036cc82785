"""Code in a text for a terminal: a line that is too wide can be told from the next one."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from minisgl_tutor.views.code_block import Markdown


def shown(code: str, width: int = 40, styled: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=styled, highlight=False)
    console.print(Markdown(f"```python\n{code}\n```\n", code_theme="ansi_dark"))
    assert isinstance(console.file, io.StringIO)
    return [line.rstrip() for line in console.file.getvalue().splitlines()]


def test_a_line_that_fits_stays_as_it_is() -> None:
    full = "    " + "x" * 36
    assert shown(f"{full}\n\n  y") == ["", full, "", "  y", ""]


def test_a_line_that_is_too_wide_goes_on_further_to_the_right() -> None:
    assert shown("def f():\n    return one_name + another_name + a_third_name\nx = 1") == [
        "",
        "def f():",
        "    return one_name + another_name +",
        "        a_third_name",
        "x = 1",
        "",
    ]


@pytest.mark.parametrize("code", ["x" * 100, "    " + "号" * 50, " " * 60 + "word " * 20])
def test_nothing_is_lost_and_no_line_is_too_wide(code: str) -> None:
    lines = shown(code)
    assert "".join(lines).replace(" ", "") == code.replace(" ", "")
    assert all(cell_len(line) <= 40 for line in lines)


def test_what_goes_on_below_keeps_its_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    first, second = shown("text = 'one two three four five six seven eight'", styled=True)[1:3]
    assert "\x1b[33m" in first and "\x1b[33m" in second
