"""Where a text speaks of a run: at an excerpt of its steps, and at a command that plays it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from minisgl_tutor.gaps import resolve
from minisgl_tutor.trace.scenes import scene_of_gap, scenes_of

Gaps = tuple[str, ...]

MARKER = re.compile(
    r"^<!-- (?:trace|embed): chapter (?P<chapter>\d+) scene (?P<scene>\S+) steps (?P<first>\d+)[\d,-]*"
    r"(?: gaps (?P<gaps>\S+))? -->\n(?:```.*?^```\n)?",
    re.MULTILINE | re.DOTALL,
)
COMMAND = re.compile(
    r"^```console\n\$ minisgl-tutor trace (?P<options>(?:[^\n]*\\\n)*[^\n]*)\n.*?^```\n",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Place:
    """``end``: where the text goes on behind it. ``excerpt``: it shows steps, or asks for the trace alone."""

    end: int
    recording: Path
    gaps: Gaps
    step: int
    excerpt: bool


def places(text: str) -> list[Place]:
    """In the order of the text."""
    return sorted([*_excerpts(text), *_commands(text)], key=lambda place: place.end)


def _excerpts(text: str) -> Iterator[Place]:
    for found in MARKER.finditer(text):
        (scene,) = scenes_of(int(found["chapter"]), found["scene"])
        gaps = resolve(found["gaps"].split(",")) if found["gaps"] else ()
        yield Place(found.end(), scene.path, gaps, int(found["first"]), excerpt=True)


def _commands(text: str) -> Iterator[Place]:
    """Those that play one recording, as ``trace`` would."""
    for found in COMMAND.finditer(text):
        words = shlex.split(found["options"].replace("\\\n", " "))
        given = {name: value for name, value in zip(words, [*words[1:], ""], strict=True) if name[:2] == "--"}
        gaps = resolve([given["--gap"]]) if "--gap" in given else ()
        if "--chapter" in given:
            scenes = scenes_of(int(given["--chapter"]), given.get("--scene"))
            recordings = [scene.path for scene in scenes]
            gaps = gaps or (() if "--fixed" in given else resolve(["reference"]))
        else:
            recordings = [scene_of_gap(name) for name in gaps]
        if len(recordings) == 1:
            step = int(given.get("--from-step", 1))
            yield Place(found.end(), recordings[0], gaps, step, excerpt=False)
