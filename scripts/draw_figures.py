#!/usr/bin/env python3
"""Draws the figures of the chapters from runs, in both languages, light and dark.

    scripts/draw_figures.py

They go into ``figures`` beside the texts, as ``NAME.LANGUAGE.SCHEME.svg``. What they show comes
from plays of the scenes; how one looks stands in its module in ``scripts/figures``.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from figures import cancel_path, sampling, shared_channel, timelines
from figures.paper import LANGUAGES, PALETTES, SCHEMES, Language, Palette

from minisgl_tutor.resources import chapters_dir


class Figure(Protocol):
    """A module that draws one figure."""

    NAME: str
    CHAPTER: int

    def observed(self) -> Any:
        """What the figure shows, from a run."""

    def draw(self, data: Any, language: Language, palette: Palette) -> str:
        """``data`` as an SVG."""


FIGURES: tuple[Figure, ...] = (shared_channel, timelines, cancel_path, sampling)


def drawings(figure: Figure) -> Iterator[tuple[Path, str]]:
    """Each file of a figure, and what belongs into it."""
    (chapter,) = chapters_dir().glob(f"{figure.CHAPTER:02d}-*")
    data = figure.observed()
    for language in LANGUAGES:
        for scheme in SCHEMES:
            file = chapter / "figures" / f"{figure.NAME}.{language}.{scheme}.svg"
            yield file, figure.draw(data, language, PALETTES[scheme])


def main() -> None:
    for figure in FIGURES:
        for file, drawing in drawings(figure):
            file.parent.mkdir(exist_ok=True)
            file.write_text(drawing, "utf-8")
            print(f"drew {file}")


if __name__ == "__main__":
    main()
