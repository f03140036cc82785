"""A step on a terminal: everything below its head is indented, so that the next head is found."""

from __future__ import annotations

import io
from typing import Any

import pytest
from rich.console import Console

from minisgl_tutor.language import ENGLISH, Sentence, Tongue
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.scenes import scenes_of
from minisgl_tutor.trace.steps import Step
from minisgl_tutor.views.terminal import INDENT, heading, print_step


def test_a_gap_of_many_claims_has_one_head() -> None:
    (scene,) = scenes_of(5, "normal-end")
    played = play(read_recording(scene.path), load_tokenizer(model_dir()), ("reference-wire",))
    (gap,) = (step for step in played.steps if step.kind == "gap")
    console = Console(file=io.StringIO(), width=60, color_system=None)
    assert isinstance(console.file, io.StringIO)
    print_step(console, gap, ENGLISH)
    head, *below = console.file.getvalue().splitlines()
    assert head.startswith(f"#{gap.number} ")
    assert all(line.startswith(" " * INDENT) for line in below)
    assert all(claim in console.file.getvalue() for claim in gap.claims)


def test_a_first_line_that_is_too_long_goes_on_below_it() -> None:
    note = Sentence("the client does not read, so this write waits")
    step = Step(1, 0, "client", "api", "client", "blocked", [0], [{"request": 0, "note": note}], [])
    console = Console(file=io.StringIO(), width=60, color_system=None)
    assert isinstance(console.file, io.StringIO)
    print_step(console, step, ENGLISH)
    head, below = console.file.getvalue().splitlines()
    assert head.startswith("#1") and below == " " * INDENT + "read, so this write waits"


@pytest.mark.parametrize(
    ("event", "content", "told"),
    [
        ("request", {"line": "GET /health"}, "GET /health"),
        ("chunk", {}, "一个块"),
        ("completed", {"status": 200}, "回答完整，状态码 200"),
        ("truncated", {}, "服务器中断了回答"),
        ("left", {}, "客户端关闭连接"),
        (
            "blocked",
            {"note": Sentence("the client does not read, so this write waits")},
            "客户端没有读，这次写只好等着",
        ),
        ("app failed", {"note": Sentence("{kind}: {what}", kind="E", what="x")}, "服务器的代码出错：E: x"),
    ],
)
def test_what_happens_to_a_client_is_told_in_the_language_of_the_reader(
    event: str, content: dict[str, Any], told: str
) -> None:
    step = Step(1, 0, "client", "api", "client", event, [0], [{"request": 0, **content}], [])
    assert heading(step, Tongue("zh")).plain == f"uid=0 {told}"
