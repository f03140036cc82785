"""The two ways of sampling: from the same scores to a token, greedily and by a draw (C2.113, C2.114).

In the scenes the shipped model is all but certain of every token, so nothing could be seen there. The
scores are those of the example in the text; the tokens are what the engine's ``Sampler`` chose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch

from minisgl_tutor.engine.base import SamplingBatch
from minisgl_tutor.engine.sample import Sampler, uniform_draws

from .paper import SMALL, Language, Palette, Paper

NAME, CHAPTER = "two-ways-of-sampling", 2
SCORES = (2.0, 1.0, -1.0)
TEMPERATURE, SEED, DRAWS = 2.0, 1, 10_000

HEIGHT = 676
GREEDY, RANDOM = (24, 212), (272, 304)
"""Where the column of each way begins, and how wide it is."""


class Words(NamedTuple):
    title: str
    description: str
    scores: str
    token: str
    greedy: str
    highest: str
    order: tuple[str, str]
    random: str
    divide: str
    sums_to_one: str
    draw: str
    often: str


WORDS: dict[Language, Words] = {
    "en": Words(
        title="Two ways from scores to a token",
        description="Greedy takes the token with the highest score, {greedy}. Random divides the scores by "
        "the temperature, turns them into probabilities by softmax and draws; this draw gave token {drawn}.",
        scores="scores of the model (logits)",
        token="token {token}",
        greedy="greedy",
        highest="take the highest score",
        order=("softmax keeps the order:", "not needed"),
        random="random",
        divide="divide by the temperature",
        sums_to_one="softmax: together 1",
        draw="draw a number from 0 to 1",
        often="{draws:,} draws: {counts}",
    ),
    "zh": Words(
        title="从分数到 token 的两条路",
        description="贪心取分数最高的 token {greedy}。"
        "随机采样先把分数除以温度，用 softmax 变成概率，再按概率抽；这一次抽到 token {drawn}。",
        scores="模型给出的分数（logits）",
        token="token {token}",
        greedy="贪心",
        highest="取最高分",
        order=("softmax 不改变大小顺序，", "所以用不着"),
        random="随机采样",
        divide="除以温度",
        sums_to_one="softmax：总和为 1",
        draw="在 0 到 1 之间抽一个数",
        often="抽 {draws:,} 次：{counts}",
    ),
}


@dataclass(frozen=True)
class TwoWays:
    """``drawn`` is the token that the number ``draw`` hits; ``counts`` how often each came in many draws."""

    greedy: int
    scaled: list[float]
    probabilities: list[float]
    draw: float
    drawn: int
    counts: list[int]


def observed() -> TwoWays:
    scaled = torch.tensor(SCORES) / TEMPERATURE
    tokens = _sampled(TEMPERATURE, DRAWS)
    (greedy,) = _sampled(0, 1)
    return TwoWays(
        greedy=greedy,
        scaled=scaled.tolist(),
        probabilities=torch.softmax(scaled, dim=-1).tolist(),
        draw=float(uniform_draws(np.array([SEED], np.uint64), np.array([0], np.int64))[0]),
        drawn=tokens[0],
        counts=[tokens.count(token) for token in range(len(SCORES))],
    )


def _sampled(temperature: float, count: int) -> list[int]:
    """The first tokens of a sequence with this seed, had each the same scores."""
    batch = SamplingBatch(
        temperatures=np.full(count, temperature, np.float32),
        top_ks=np.full(count, -1, np.int32),
        top_ps=np.ones(count, np.float32),
        seeds=np.full(count, SEED, np.uint64),
        positions=np.arange(count),
    )
    sampler = Sampler(len(SCORES), torch.device("cpu"))
    logits = torch.tensor(SCORES).expand(count, -1)
    return [int(token) for token in sampler.sample(logits, sampler.prepare(batch, np.arange(count)))]


def draw(data: TwoWays, language: Language, palette: Palette) -> str:
    words = WORDS[language]
    description = words.description.format(greedy=data.greedy, drawn=data.drawn)
    paper = Paper(HEIGHT, language, palette, words.title, description)
    _stage(paper, (148, 304), 24, 116, words.scores)
    for token, score in enumerate(SCORES):
        _bar(paper, words, 148, 71 + token * 24, token, score / 2, f"{score:.1f}", zero=0.4)
    for left, width in (GREEDY, RANDOM):
        paper.arrow([(300, 140), (300, 164), (left + width / 2, 164), (left + width / 2, 196)])
    _greedy(paper, words, data)
    _random(paper, words, data)
    for (left, width), token in ((GREEDY, data.greedy), (RANDOM, data.drawn)):
        paper.box(left, 620, width, 36, fill="surface", stroke="ink")
        paper.text(left + width / 2, 643, words.token.format(token=token), anchor="middle", bold=True)
    return paper.svg()


def _greedy(paper: Paper, words: Words, data: TwoWays) -> None:
    middle = GREEDY[0] + GREEDY[1] / 2
    _name(paper, GREEDY, words.greedy, "temperature=0")
    paper.arrow([(middle, 248), (middle, 276)])
    _stage(paper, GREEDY, 276, 78, words.highest)
    for y, line in zip((324, 341), words.order, strict=True):
        paper.note(GREEDY[0] + 14, y, line)
    paper.arrow([(middle, 354), (middle, 620)])


def _random(paper: Paper, words: Words, data: TwoWays) -> None:
    left, width = RANDOM
    middle = left + width / 2
    _name(paper, RANDOM, words.random, f"temperature={TEMPERATURE} seed={SEED}")
    for top, bottom in ((248, 276), (334, 358), (474, 498), (596, 620)):
        paper.arrow([(middle, top), (middle, bottom)])
    _stage(paper, RANDOM, 276, 58, words.divide)
    for token, score in enumerate(data.scaled):
        text = f"{score:.1f}".replace("-", "−")
        paper.note(left + 14 + token * 64, 322, text, mono=True)
    _stage(paper, RANDOM, 358, 116, words.sums_to_one)
    for token, probability in enumerate(data.probabilities):
        _bar(paper, words, left, 405 + token * 24, token, probability, f"{probability:.3f}")
    _stage(paper, RANDOM, 498, 98, words.draw)
    _number_line(paper, data, left + 14, width - 28)
    counts = " · ".join(f"{count:,}" for count in data.counts)
    often = words.often.format(draws=DRAWS, counts=counts)
    paper.note(left + 14, 586, often)


def _number_line(paper: Paper, data: TwoWays, left: float, width: float) -> None:
    """From 0 to 1, each token with its share; the number that was drawn points at one."""
    begin = left
    for token, probability in enumerate(data.probabilities):
        share = width * probability
        hit = token == data.drawn
        paper.box(begin, 546, share, 22, fill="ground", stroke="ink" if hit else "muted", radius=0)
        paper.text(begin + share / 2, 562, str(token), size=SMALL, anchor="middle", bold=hit)
        begin += share
    at = left + width * data.draw
    paper.arrow([(at, 528), (at, 546)], "event")
    paper.text(at + 10, 538, f"{data.draw:.3f}", size=SMALL, tone="event", bold=True)


def _name(paper: Paper, column: tuple[float, float], name: str, params: str) -> None:
    left, width = column
    paper.box(left, 196, width, 52, fill="ground", stroke="data", radius=10)
    paper.text(left + width / 2, 217, name, anchor="middle", bold=True)
    paper.note(left + width / 2, 237, params, anchor="middle", mono=True)


def _stage(paper: Paper, column: tuple[float, float], y: float, height: float, what: str) -> None:
    paper.box(column[0], y, column[1], height, fill="surface", stroke="muted")
    paper.text(column[0] + 14, y + 22, what, bold=True, size=SMALL)


def _bar(
    paper: Paper, words: Words, left: float, y: float, token: int, share: float, value: str, zero: float = 0
) -> None:
    """One token's line: its name, a bar from ``zero`` on in units of ``share``, and the number."""
    origin, unit = left + 78 + zero * 150, 150 * (1 - zero)
    paper.note(left + 14, y + 4.5, words.token.format(token=token))
    paper.box(
        min(origin, origin + share * unit), y - 7, abs(share) * unit, 14, fill="data", radius=2, opacity=0.6
    )
    paper.line([(origin, y - 10), (origin, y + 10)], "muted", width=1)
    paper.text(left + 290, y + 4.5, value.replace("-", "−"), size=SMALL, anchor="end", mono=True)
