"""Every scene through every view: what is printed, written and drawn of it."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from minisgl_tutor.language import Language, Sentence, Tongue
from minisgl_tutor.trace.play import Play
from minisgl_tutor.trace.scenes import Scene, chapters, scenes_of
from minisgl_tutor.views.html import page
from minisgl_tutor.views.json_lines import write_closing, write_opening, write_step
from minisgl_tutor.views.perfetto import write_perfetto
from minisgl_tutor.views.shown import ShownScene
from minisgl_tutor.views.terminal import print_play

SCRIPT = Path(__file__).parents[2] / "scripts" / "write_goldens.py"
CHAPTER_SCENES = [scene for chapter in chapters() for scene in scenes_of(chapter)]

Played = Callable[[str], Play]


@pytest.fixture(scope="module")
def goldens() -> Any:
    spec = importlib.util.spec_from_file_location("write_goldens", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("scene", CHAPTER_SCENES, ids=lambda scene: f"{scene.chapter}-{scene.name}")
def test_json_lines_are_those_that_were_kept(goldens: Any, scene: Scene) -> None:
    """If the difference is meant: scripts/write_goldens.py."""
    kept = goldens.golden_file(scene).read_text(encoding="utf-8").splitlines()
    found = goldens.golden(scene).splitlines()
    for number, (old, new) in enumerate(zip(kept, found, strict=False), 1):
        assert json.loads(new) == json.loads(old), f"line {number}"
    assert found == kept


def test_every_kept_file_has_its_scene(goldens: Any) -> None:
    assert sorted(goldens.GOLDEN.glob("*.jsonl")) == sorted(map(goldens.golden_file, CHAPTER_SCENES))


@pytest.mark.parametrize(("width", "language"), [(80, "en"), (120, "en"), (80, "zh")])
def test_text_fits_the_terminal_and_tells_every_step(
    played: Played, scene_name: str, width: int, language: Language
) -> None:
    result = played(scene_name)
    out = io.StringIO()
    print_play(Console(file=out, width=width), Sentence(scene_name), result, Tongue(language))
    lines = out.getvalue().splitlines()
    assert [line for line in lines if cell_len(line) > width] == []
    heads = [line for line in lines if line.startswith("#")]
    assert [int(line[1:].split()[0]) for line in heads] == [step.number for step in result.steps]
    assert sum(" GAP " in line for line in heads) == len(result.findings)


def test_json_lines_tell_every_step(played: Played, scene_name: str) -> None:
    result = played(scene_name)
    out = io.BytesIO()
    write_opening(out, Sentence(scene_name), result.gaps, result.header)
    for step in result.steps:
        write_step(out, step)
    write_closing(out, result)
    opening, *steps, closing = map(json.loads, out.getvalue().splitlines())
    assert opening["gaps"] == list(result.gaps)
    assert [step["number"] for step in steps] == [step.number for step in result.steps]
    assert len(closing["findings"]) == len(result.findings)


def test_perfetto_has_every_step(played: Played, shown: Callable[[str], ShownScene], scene_name: str) -> None:
    out = io.BytesIO()
    write_perfetto(out, [shown(scene_name)])
    events = json.loads(out.getvalue())["traceEvents"]
    told = {event["args"]["step"] for event in events if event["ph"] in "Xi"}
    assert told == {step.number for step in played(scene_name).steps}


def test_the_page_shows_every_step(
    look: Callable[..., Any], played: Played, shown: Callable[[str], ShownScene], scene_name: str
) -> None:
    """In the browser, which is to complain of nothing (looked at when the test ends)."""
    steps = played(scene_name).steps
    looked = look(shown(scene_name))
    walk = """return cursor.steps.map((step, place) => {
        if (place) goTo(place);
        const row = document.getElementById(`row-${place}`);
        return [byId('step').innerText, row?.ariaSelected, byId('finding').hidden];
    })"""
    told = looked.evaluate(walk)
    assert len(told) == len(steps)
    for step, (heading, selected, no_finding) in zip(steps, told, strict=True):
        assert heading.startswith(f"#{step.number} ") and selected == "true"
        assert no_finding == (step.kind != "gap")


def test_the_page_is_the_same_twice(shown: Callable[[str], ShownScene], scene_name: str) -> None:
    assert page([shown(scene_name)]) == page([shown(scene_name)])
