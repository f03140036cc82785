"""What a reader of Chinese is shown of runs: no English sentence is left, and the facts are the same."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from minisgl_tutor.gaps import GAPS, resolve
from minisgl_tutor.language import ENGLISH, Tongue
from minisgl_tutor.recording import read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import Play, play
from minisgl_tutor.trace.scenes import chapters, scene_of_gap, scenes_of, title_of
from minisgl_tutor.views.cursor import Cursor
from minisgl_tutor.views.panes import code_pane, state_pane, step_pane, steps_pane
from minisgl_tutor.views.source import Sources
from minisgl_tutor.views.terminal import print_legend, print_play
from tests.language.english import english_left

CHINESE = Tongue("zh")
FACT = re.compile(r"\d+(?:\.\d+)?|\b[a-z]+_[a-z_]+\b|\b[A-Z]\w+Msg\b|GAP")
"""Numbers, names of fields and components, and messages: what every language says alike."""

RUNS = {
    **{scene.path: "reference" for chapter in chapters() for scene in scenes_of(chapter)},
    **{scene_of_gap(gap.name): gap.name for gap in GAPS if not gap.scene},
}


@cache
def played(path: Path) -> Play:
    return play(read_recording(path), _tokenizer(), resolve([RUNS[path]]))


@cache
def _tokenizer() -> Any:
    return load_tokenizer(model_dir())


def printed(path: Path, say: Tongue) -> str:
    out = io.StringIO()
    console = Console(file=out, width=2000, highlight=False)
    print_legend(console, say)
    print_play(console, title_of(read_recording(path), path), played(path), say)
    return out.getvalue()


def paned(path: Path, say: Tongue) -> str:
    """The panes of the last steps, where the findings are, and the first ones."""
    cursor, sources = Cursor(played(path).steps), Sources()
    texts = []
    for number in [1, 2, 3, *range(max(4, len(cursor.steps) - 5), len(cursor.steps) + 1)]:
        cursor.to(number)
        step = cursor.step
        panes = [steps_pane(cursor, 4, say), step_pane(step, cursor.uid, 400, say), state_pane(step, say)]
        outside = [] if step.where or step.kind == "gap" else [code_pane(step, 0, 9, 80, sources, say)]
        texts += [pane.plain for pane in [*panes, *outside]]
    return "\n".join(texts)


@pytest.mark.parametrize("shown", [printed, paned])
@pytest.mark.parametrize("path", RUNS, ids=lambda path: path.stem)
def test_a_run_is_shown_in_chinese_with_the_same_facts(
    path: Path, shown: Callable[[Path, Tongue], str]
) -> None:
    chinese, english = shown(path, CHINESE), shown(path, ENGLISH).replace("one thing", "1 thing")
    said = [line for line in chinese.splitlines() if not line.lstrip().startswith("uid=")]  # that is data
    assert english_left("\n".join(said)) == []
    assert [sorted(FACT.findall(line)) for line in chinese.splitlines()] == [
        sorted(FACT.findall(line)) for line in english.splitlines()
    ]


@pytest.mark.parametrize("gap", GAPS, ids=lambda gap: gap.name)
def test_a_gap_is_explained_in_chinese_with_the_same_facts(gap: Any) -> None:
    for sentence in (gap.summary, gap.explanation):
        chinese, english = CHINESE(sentence), ENGLISH(sentence)
        assert english_left(chinese) == [] and chinese != english
        assert set(re.findall(r"[CK]\d\.\d+|\d\.\d s|U\+FFFD|``\w+``", english)) <= set(
            re.findall(r"[CK]\d\.\d+|U\+FFFD|``\w+``", chinese)
        ) | {"0.1 s"}
