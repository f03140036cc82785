"""What a load client asks: prompts of given lengths with arrival times, or the requests of a recording."""

from __future__ import annotations

import json
import random
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ..recording import Recording, RequestLine

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
WORDS = tuple(
    word
    for line in (
        "time year people way day man thing woman life child world school state family student group country",
        "problem hand part place case week company system program question work government number night",
        "point home water room mother area money story fact month lot right study book eye job word business",
        "issue side kind head house service friend father power hour game line end member law car city name",
    )
    for word in line.split()
)


@dataclass(frozen=True)
class Ask:
    """One request. ``due_s`` is when it is to be sent, in seconds from the start.

    ``tokens`` is how many tokens its answer must have, if that is known.
    """

    due_s: float
    path: str
    body: dict[str, Any]
    tokens: int | None

    def encoded(self) -> bytes:
        return json.dumps(self.body, ensure_ascii=False).encode(errors="replace")


class Encoder(Protocol):
    """The part of a tokenizer that counts."""

    def encode(self, text: str) -> list[int]: ...


@dataclass(frozen=True)
class Shape:
    """How drawn requests look. Prompts have ``shortest_input`` to ``longest_input`` words or tokens."""

    chat: bool = True
    shortest_input: int = 100
    longest_input: int = 100
    max_tokens: int = 128
    ignore_eos: bool = False
    temperature: float = 0.0


def draw_asks(shape: Shape, model: str, count: int, seed: int, encoder: Encoder | None = None) -> list[Ask]:
    """``count`` requests, due at once; the same seed gives the same ones, and another one shares no prompt.

    A prompt's length is counted in words, or with an ``encoder`` in its tokens.
    """
    draws = random.Random(seed)
    asks = []
    for _ in range(count):
        length = draws.randint(shape.shortest_input, shape.longest_input)
        prompt = _words(draws, length) if encoder is None else _tokens(draws, length, encoder)
        given = {"messages": [{"role": "user", "content": prompt}]} if shape.chat else {"prompt": prompt}
        body = {
            "model": model,
            **given,
            "max_tokens": shape.max_tokens,
            "temperature": shape.temperature,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if shape.ignore_eos:
            body["ignore_eos"] = True
        path = CHAT if shape.chat else COMPLETIONS
        asks.append(Ask(0.0, path, body, shape.max_tokens if shape.ignore_eos else None))
    return asks


def poisson(asks: list[Ask], rate: float, seed: int) -> list[Ask]:
    """The same requests, ``rate`` a second on average, each independent of the others."""
    draws = random.Random(seed)
    due, timed = 0.0, []
    for ask in asks:
        due += draws.expovariate(rate)
        timed.append(replace(ask, due_s=due))
    return timed


def recorded_asks(recording: Recording, model: str, overrides: Mapping[str, Any]) -> list[Ask]:
    """The recorded requests for an answer, at the times at which they came, the first at 0.

    All are streamed and count their tokens, whatever they were. ``overrides`` go over
    their bodies. What no server could answer is left out: see ``left_out``.
    """
    asks = []
    for line, body in answerable(recording):
        asked = {**body, "model": model, "stream": True, "stream_options": {"include_usage": True}}
        asked |= overrides
        limit = asked.get("max_completion_tokens") or asked.get("max_tokens")
        exact = limit if asked.get("ignore_eos") is True and isinstance(limit, int) else None
        asks.append(Ask(line.t / 1e6, line.path, asked, exact))
    asks.sort(key=lambda ask: ask.due_s)
    return [replace(ask, due_s=ask.due_s - asks[0].due_s) for ask in asks]


def left_out(recording: Recording) -> int:
    """How many recorded requests ask for no answer of a model, or are no request at all."""
    requests = sum(isinstance(line, RequestLine) for line in recording.lines)
    return requests - sum(1 for _ in answerable(recording))


def answerable(recording: Recording) -> Iterator[tuple[RequestLine, dict[str, Any]]]:
    """The recorded requests for an answer of a model, with their bodies."""
    for line in recording.lines:
        if not isinstance(line, RequestLine) or line.path not in (CHAT, COMPLETIONS):
            continue
        try:
            body = json.loads(line.body)
        except (ValueError, RecursionError):
            continue
        if isinstance(body, dict):
            yield line, body


def _words(draws: random.Random, count: int) -> str:
    return " ".join(draws.choice(WORDS) for _ in range(count))


def _tokens(draws: random.Random, count: int, encoder: Encoder) -> str:
    """Words of ``count`` tokens in all, or of a few less where a word has several."""
    words = [draws.choice(WORDS) for _ in range(count)]

    def tokens(first: int) -> int:
        return len(encoder.encode(" ".join(words[:first])))

    fitting = bisect_right(range(len(words) + 1), count, key=tokens) - 1
    return " ".join(words[: max(fitting, 1)])
