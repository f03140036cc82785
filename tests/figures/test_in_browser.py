"""The figures as a browser sets them: no text lies on another, or leaves what it stands in."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from minisgl_tutor.resources import chapters_dir

FILES = sorted(chapters_dir().glob("*/figures/*.light.svg"))
MARGIN = 6
BOXES = """
    const box = (it) => (({x, y, width, height}) => [x, y, x + width, y + height])(it.getBBox());
    const all = (name) => [...document.querySelectorAll(name)];
    return [all("text").map((it) => [it.textContent, ...box(it)]), all("rect").map((it) => ["", ...box(it)])];
"""


class Box(NamedTuple):
    words: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Box) -> bool:
        """By more than the pixel that the lines of two texts may share."""
        return (
            self.left + 1 < other.right
            and other.left + 1 < self.right
            and self.top + 1 < other.bottom
            and other.top + 1 < self.bottom
        )

    def holds_middle_of(self, other: Box) -> bool:
        x, y = (other.left + other.right) / 2, (other.top + other.bottom) / 2
        return self.left <= x <= self.right and self.top <= y <= self.bottom

    @property
    def area(self) -> float:
        return (self.right - self.left) * (self.bottom - self.top)


def faults(texts: list[Box], frames: list[Box]) -> list[str]:
    """What is wrong with the places of these texts; the widest of the frames is the whole figure."""
    found = [
        f"{one.words!r} on {other.words!r}" for one, other in combinations(texts, 2) if one.overlaps(other)
    ]
    whole = max(frames, key=lambda frame: frame.area)
    for text in texts:
        frame = min((frame for frame in frames if frame.holds_middle_of(text)), key=lambda frame: frame.area)
        room = MARGIN if frame == whole else 1
        if text.left < frame.left + room or text.right > frame.right - room:
            found.append(f"{text.words!r} leaves its frame")
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_texts_have_room(browser: Any, file: Path) -> None:
    """Those on a dark ground stand where those on a light one do."""
    browser.get(file.as_uri())
    texts, frames = browser.execute_script(BOXES)
    assert len(texts) > 10
    assert not faults([Box(*text) for text in texts], [Box(*frame) for frame in frames])


def test_texts_without_room_are_found() -> None:
    frames = [Box("", 0, 0, 100, 100), Box("", 10, 10, 40, 30)]
    assert not faults([Box("a", 12, 12, 38, 28), Box("b", 50, 12, 90, 28)], frames)
    assert faults([Box("a", 12, 12, 38, 28), Box("b", 30, 12, 90, 28)], frames) == ["'a' on 'b'"]
    assert faults([Box("a", 8, 12, 38, 28)], frames) == ["'a' leaves its frame"]
    assert faults([Box("a", 50, 12, 96, 28)], frames) == ["'a' leaves its frame"]
