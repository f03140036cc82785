"""A picture is written for any run, in the format that its name says."""

from __future__ import annotations

from array import array
from pathlib import Path

import pytest

from minisgl_tutor.bench.answer import Answer, RequestFailed
from minisgl_tutor.bench.asks import Ask
from minisgl_tutor.bench.plot import draw

BEGINNINGS = {".png": b"\x89PNG", ".svg": b"<?xml"}


def answers(failed: bool) -> list[Answer]:
    ask = Ask(0.0, "/v1/completions", {}, None)
    failure = RequestFailed("timeout") if failed else None
    return [
        Answer(ask, n / 10, n / 10 + 1, array("d", [n / 10 + 0.5, n / 10 + 0.9]), failure=failure)
        for n in range(5)
    ]


@pytest.mark.parametrize("ending", [".png", ".svg"])
@pytest.mark.parametrize("failed", [False, True])
def test_a_picture(tmp_path: Path, ending: str, failed: bool) -> None:
    path = tmp_path / f"run{ending}"
    draw(answers(failed), "a run", path)
    assert path.read_bytes().startswith(BEGINNINGS[ending])
