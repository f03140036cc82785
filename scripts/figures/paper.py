"""The common strokes: one width, two palettes, and what every figure draws again and again.

Sizes are in pixels of a figure that is shown as wide as it is. Nothing depends on the
machine: where the size of a text matters it is estimated, on the wide side.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Literal

import drawsvg

Language = Literal["en", "zh"]
Scheme = Literal["light", "dark"]
Anchor = Literal["start", "middle", "end"]
Point = tuple[float, float]

LANGUAGES: tuple[Language, ...] = ("en", "zh")
SCHEMES: tuple[Scheme, ...] = ("light", "dark")

WIDTH = 600
BODY, SMALL = 14, 13
HEAD = 9
"""The length of an arrow's head."""

SANS = (
    "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'PingFang SC', 'Microsoft YaHei', "
    "'Noto Sans CJK SC', 'Noto Sans SC', sans-serif"
)
MONO = (
    "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'PingFang SC', 'Microsoft YaHei', "
    "'Noto Sans Mono CJK SC', 'Noto Sans SC', monospace"
)


@dataclass(frozen=True)
class Palette:
    """``ground`` lies under everything, ``surface`` under what is in a box; texts are ``ink`` or ``muted``.

    ``data`` is what moves, ``event`` what only signals, ``first`` and ``second`` are requests.
    """

    ground: str
    surface: str
    faint: str
    muted: str
    ink: str
    data: str
    event: str
    first: str
    second: str


PALETTES: dict[Scheme, Palette] = {
    "light": Palette(
        ground="#ffffff",
        surface="#f2f5f9",
        faint="#c3ccd7",
        muted="#566274",
        ink="#18212e",
        data="#1d5fbf",
        event="#b0530a",
        first="#0b6b62",
        second="#85368c",
    ),
    "dark": Palette(
        ground="#12161d",
        surface="#1d2430",
        faint="#465264",
        muted="#9daabb",
        ink="#e7ebf1",
        data="#82b6ff",
        event="#ffb168",
        first="#63d8c6",
        second="#e2a3e8",
    ),
}


class Description(drawsvg.Title):  # type: ignore[misc]
    """What a screen reader says of the figure beside its title."""

    TAG_NAME = "desc"


class Paper:
    """A figure in the making. Colours are given by their names in the palette."""

    def __init__(
        self, height: float, language: Language, palette: Palette, title: str, description: str
    ) -> None:
        self.palette = palette
        self.drawing = drawsvg.Drawing(
            WIDTH, height, role="img", lang={"en": "en", "zh": "zh-CN"}[language], font_family=SANS
        )
        self.drawing.append(drawsvg.Title(title))
        self.drawing.append(Description(description))
        self.box(0, 0, WIDTH, height, fill="ground", radius=10)

    def svg(self) -> str:
        return str(self.drawing.as_svg()) + "\n"

    def box(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str | None = None,
        stroke: str | None = None,
        dashed: bool = False,
        radius: float = 6,
        opacity: float = 1,
    ) -> None:
        self.drawing.append(
            drawsvg.Rectangle(
                _short(x),
                _short(y),
                _short(width),
                _short(height),
                rx=radius,
                fill=self._colour(fill),
                stroke=self._colour(stroke),
                stroke_width=1.5 if stroke else None,
                stroke_dasharray="4 3" if dashed else None,
                fill_opacity=opacity if opacity < 1 else None,
            )
        )

    def text(
        self,
        x: float,
        y: float,
        words: str,
        *,
        size: float = BODY,
        anchor: Anchor = "start",
        tone: str = "ink",
        bold: bool = False,
        mono: bool = False,
        halo: bool = False,
    ) -> None:
        """One line, whose base line is at ``y``; with a ``halo`` it can be read across lines."""
        self.drawing.append(
            drawsvg.Text(
                words,
                size,
                _short(x),
                _short(y),
                text_anchor=anchor if anchor != "start" else None,
                fill=self._colour(tone),
                font_weight=600 if bold else None,
                font_family=MONO if mono else None,
                stroke=self.palette.ground if halo else None,
                stroke_width=5 if halo else None,
                stroke_linejoin="round" if halo else None,
                paint_order="stroke" if halo else None,
            )
        )

    def note(
        self,
        x: float,
        y: float,
        words: str,
        *,
        anchor: Anchor = "start",
        mono: bool = False,
        bold: bool = False,
        halo: bool = False,
    ) -> None:
        """A text that stays in the background."""
        self.text(x, y, words, size=SMALL, anchor=anchor, tone="muted", bold=bold, mono=mono, halo=halo)

    def line(
        self, points: Sequence[Point], tone: str = "faint", *, dashed: bool = False, width: float = 1.5
    ) -> None:
        flat = [_short(value) for point in points for value in point]
        self.drawing.append(
            drawsvg.Lines(
                *flat,
                fill="none",
                stroke=self._colour(tone),
                stroke_width=width,
                stroke_linejoin="round",
                stroke_dasharray="6 4" if dashed else None,
            )
        )

    def arrow(self, points: Sequence[Point], tone: str = "data", *, dashed: bool = False) -> None:
        """A line whose head touches the last point."""
        (before_x, before_y), (x, y) = points[-2:]
        length = hypot(x - before_x, y - before_y)
        along_x, along_y = (x - before_x) / length, (y - before_y) / length
        foot_x, foot_y = x - HEAD * along_x, y - HEAD * along_y
        self.line([*points[:-1], (foot_x, foot_y)], tone, dashed=dashed, width=2)
        half = HEAD * 0.45
        left = (foot_x - half * along_y, foot_y + half * along_x)
        right = (foot_x + half * along_y, foot_y - half * along_x)
        flat = [_short(value) for point in ((x, y), left, right) for value in point]
        self.drawing.append(drawsvg.Lines(*flat, close=True, fill=self._colour(tone)))

    def dot(self, x: float, y: float, tone: str = "data", *, radius: float = 4) -> None:
        self.drawing.append(drawsvg.Circle(_short(x), _short(y), radius, fill=self._colour(tone)))

    def mark(self, x: float, y: float, number: int, tone: str = "data") -> None:
        """A number in a circle, around this point."""
        self.dot(x, y, tone, radius=9.5)
        self.text(x, y + 4.5, str(number), size=SMALL, anchor="middle", tone="ground", bold=True)

    def tag(self, x: float, y: float, words: str, tone: str, radius: float = 12) -> float:
        """Words in a frame, from ``x`` on and around ``y``; how wide it is."""
        width = tag_width(words)
        self.box(x, y - 12, width, 24, fill="ground", stroke=tone, radius=radius)
        self.text(x + width / 2, y + 4.5, words, size=SMALL, anchor="middle", tone=tone, mono=True)
        return width

    def _colour(self, tone: str | None) -> str:
        return "none" if tone is None else str(getattr(self.palette, tone))


def tag_width(words: str) -> float:
    return width_of(words, SMALL, mono=True) + 14


def width_of(words: str, size: float, *, mono: bool = False) -> float:
    """How wide a text is, about: a wide character is as wide as it is high, others are narrower."""
    wide = sum(unicodedata.east_asian_width(each) in "WF" for each in words)
    return size * (wide + (0.605 if mono else 0.56) * (len(words) - wide))


def _short(value: float) -> float:
    """To a tenth of a pixel."""
    rounded = round(value, 1)
    return int(rounded) if rounded == int(rounded) else rounded
