"""A picture of a run: how latencies are distributed, and what came and went over time. Needs matplotlib.

Drawn for paper as well as for a screen: lines differ in style and not in colour alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .answer import Answer

FORMATS = (".png", ".svg")
SLOTS = 60
"""So many stretches of time the run is cut into."""

BLUE, ORANGE, GREY = "#1f5fa8", "#c25a00", "#555555"
STYLE: dict[str, Any] = {"linewidth": 1.6}


def draw(answers: Sequence[Answer], title: str, path: Path) -> None:
    """Writes the picture in the format that the ending of ``path`` names, one of ``FORMATS``.

    Raises:
        OSError: the file cannot be written.
    """
    whole = [answer for answer in answers if answer.failure is None]
    figure = Figure(figsize=(10, 6.4), layout="constrained", facecolor="white")
    figure.suptitle(title, fontsize=11)
    (first, gaps), (speed, flight) = figure.subplots(2, 2)
    _distribution(
        first,
        "From sending, in seconds",
        [
            ("first token", [answer.first_s for answer in whole if answer.first_s is not None], BLUE, "-"),
            ("whole answer", [answer.whole_s for answer in whole], ORANGE, "--"),
        ],
    )
    between = [1000 * gap for answer in whole for gap in answer.gaps_s]
    per_token = [1000 * answer.per_token_s for answer in whole if answer.per_token_s is not None]
    _distribution(
        gaps,
        "Between tokens, in milliseconds",
        [("chunk to chunk", between, BLUE, "-"), ("per token, mean of an answer", per_token, ORANGE, "--")],
    )
    _speed(speed, whole)
    _in_flight(flight, answers)
    figure.savefig(path, dpi=150)


def _distribution(axes: Axes, label: str, lines: list[tuple[str, list[float], str, str]]) -> None:
    """Which part of the values is at most so large."""
    for name, values, colour, style in lines:
        if values:
            ordered = np.sort(np.asarray(values))
            share = np.arange(1, len(ordered) + 1) / len(ordered)
            axes.step(ordered, share, where="post", color=colour, linestyle=style, label=name, **STYLE)
    axes.set_ylabel("share")
    axes.set_ylim(0, 1.02)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 0.9, 1])
    axes.set_xlim(left=0)
    _finish(axes, label)


def _speed(axes: Axes, whole: Sequence[Answer]) -> None:
    """Tokens a second: each chunk of an answer stands for as many tokens as its others."""
    times = [time for answer in whole for time in answer.chunk_times]
    weights = [
        answer.tokens / len(answer.chunk_times) for answer in whole for _ in range(len(answer.chunk_times))
    ]
    if times:
        counts, edges = np.histogram(times, bins=SLOTS, range=(0, max(times)), weights=weights)
        axes.stairs(counts / (edges[1] - edges[0]), edges, color=BLUE, fill=True, alpha=0.25)
        axes.stairs(
            counts / (edges[1] - edges[0]), edges, color=BLUE, label="output tokens a second", **STYLE
        )
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    _finish(axes, "Time, in seconds")


def _in_flight(axes: Axes, answers: Sequence[Answer]) -> None:
    sent = np.sort([answer.sent_s for answer in answers])
    ended = np.sort([answer.end_s for answer in answers])
    moments = np.sort(np.concatenate(([0.0], sent, ended)))
    came = np.searchsorted(sent, moments, side="right")
    under_way = came - np.searchsorted(ended, moments, side="right")
    axes.step(moments, came, where="post", color=GREY, linestyle=":", label="sent so far", **STYLE)
    axes.step(moments, under_way, where="post", color=BLUE, label="under way", **STYLE)
    axes.set_ylabel("requests")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    _finish(axes, "Time, in seconds")


def _finish(axes: Axes, label: str) -> None:
    axes.set_xlabel(label)
    axes.grid(True, color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9)
