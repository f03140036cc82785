"""Drawn requests have the lengths that were asked for and repeat; recorded ones come as they came."""

from __future__ import annotations

import json
import statistics
from itertools import pairwise
from typing import Any

import pytest

from minisgl_tutor.bench.asks import (
    CHAT,
    COMPLETIONS,
    Shape,
    draw_asks,
    left_out,
    poisson,
    recorded_asks,
)
from minisgl_tutor.recording import VERSION, Header, Recording, RequestLine


class Letters:
    """A tokenizer with a token for each pair of characters."""

    def encode(self, text: str) -> list[int]:
        return [0] * -(-len(text) // 2)


def prompt_of(body: dict[str, Any]) -> str:
    text = body["messages"][0]["content"] if "messages" in body else body["prompt"]
    assert isinstance(text, str)
    return text


def recording(*requests: tuple[int, str, str]) -> Recording:
    header = Header(VERSION, None, "tiny", 16, 10, 4, 100, 50, 64, "radix", True, 1, 64, [0])
    lines = [RequestLine(t, rid, "POST", path, body) for rid, (t, path, body) in enumerate(requests)]
    return Recording(header, lines)  # type: ignore[arg-type]


def test_the_same_seed_draws_the_same_and_another_one_shares_no_prompt() -> None:
    shape = Shape(shortest_input=5, longest_input=30)
    once, again, other = (draw_asks(shape, "m", 20, seed) for seed in (3, 3, 4))
    assert once == again
    assert not {prompt_of(ask.body) for ask in once} & {prompt_of(ask.body) for ask in other}
    lengths = [len(prompt_of(ask.body).split()) for ask in once]
    assert 5 <= min(lengths) < max(lengths) <= 30


def test_a_body_says_what_was_asked_and_nothing_else() -> None:
    (plain,) = draw_asks(Shape(max_tokens=7), "m", 1, 0)
    assert plain.path == CHAT
    assert plain.body.keys() == {
        "model",
        "messages",
        "max_tokens",
        "temperature",
        "stream",
        "stream_options",
    }
    assert plain.tokens is None
    (exact,) = draw_asks(Shape(chat=False, max_tokens=7, ignore_eos=True), "m", 1, 0)
    assert exact.path == COMPLETIONS
    assert exact.body["ignore_eos"] is True and exact.tokens == 7
    assert json.loads(exact.encoded()) == exact.body


def test_with_a_tokenizer_lengths_are_counted_in_tokens() -> None:
    shape = Shape(shortest_input=40, longest_input=40)
    for ask in draw_asks(shape, "m", 10, 0, Letters()):
        assert 40 - 5 < len(Letters().encode(prompt_of(ask.body))) <= 40
    (least,) = draw_asks(Shape(shortest_input=1, longest_input=1), "m", 1, 0, Letters())
    assert len(prompt_of(least.body).split()) == 1


def test_poisson_arrivals_have_the_rate_and_the_spread() -> None:
    asks = poisson(draw_asks(Shape(shortest_input=1, longest_input=1), "m", 4000, 0), rate=20, seed=1)
    gaps = [after.due_s - before.due_s for before, after in pairwise(asks)]
    # Exponential gaps: mean and deviation are both 1 / rate. 4000 of them give each within some percent.
    assert statistics.mean(gaps) == pytest.approx(1 / 20, rel=0.08)
    assert statistics.stdev(gaps) == pytest.approx(1 / 20, rel=0.08)


def test_recorded_requests_come_at_their_times_with_their_bodies() -> None:
    first = {"model": "old", "prompt": "a", "max_tokens": 3, "ignore_eos": True, "stream": False}
    second = {"model": "old", "messages": [{"role": "user", "content": "b"}], "seed": 5}
    played = recording(
        (7_500_000, CHAT, json.dumps(second)),
        (5_000_000, COMPLETIONS, json.dumps(first)),
        (6_000_000, CHAT, "{"),
        (6_000_000, CHAT, "[1]"),
        (6_000_000, "/v1/models", "{}"),
    )
    one, two = recorded_asks(played, "new", {})
    assert (one.due_s, two.due_s) == (0.0, 2.5)
    assert (one.path, two.path) == (COMPLETIONS, CHAT)
    streamed = {"model": "new", "stream": True, "stream_options": {"include_usage": True}}
    assert one.body == {**first, **streamed} and one.tokens == 3
    assert two.body == {**second, **streamed} and two.tokens is None
    assert left_out(played) == 3


def test_what_is_given_goes_over_what_was_recorded() -> None:
    played = recording((0, CHAT, json.dumps({"max_tokens": 3})))
    (ask,) = recorded_asks(played, "m", {"max_tokens": 9, "ignore_eos": True})
    assert (ask.body["max_tokens"], ask.tokens) == (9, 9)
    assert recorded_asks(recording(), "m", {}) == []
