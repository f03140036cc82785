"""A step on a terminal: everything below its head is indented, so that the next head is found."""

from __future__ import annotations

import io

from rich.console import Console

from minisgl_tutor.language import ENGLISH
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.scenes import scenes_of
from minisgl_tutor.views.terminal import INDENT, print_step


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
