"""Chinese in Rich's tables: broken where it may be, and never cut."""

from __future__ import annotations

import io
import sys

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from minisgl_tutor.cli.unbroken import Unbroken, breakable, unbroken_output

TEXT = "把这次运行录制成文件，供 trace 回放。等 KV cache 空出来再继续，别忘了 `top`"


@pytest.mark.parametrize("width", range(12, 40))
def test_nothing_is_lost_at_any_width(width: int) -> None:
    out = io.StringIO()
    table = Table.grid()
    table.add_row(breakable(TEXT))
    Console(file=Unbroken(out), width=width).print(table)  # type: ignore[arg-type]
    lines = out.getvalue().splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "".join(lines).replace(" ", "") == TEXT.replace(" ", "")


def test_in_all_else_it_is_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with unbroken_output():
        assert sys.stdout.isatty() is before.isatty()
        print(breakable("中文 a"))
    assert sys.stdout is before
    assert capsys.readouterr().out == "中文 a\n"
