#!/usr/bin/env python3
"""Writes the scenes of those gaps that hinge on a moment within a step.

    .venv/bin/python scripts/write_gap_scenes.py

`record_scenes.py` records the others. These are written by hand, in the form of a
recording of the shipped model's server: a token takes 25 ms, and every client does
what it does at the right moment.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from minisgl_tutor.engine.base import Phase
from minisgl_tutor.recording import (
    VERSION,
    ArriveLine,
    DisconnectLine,
    Event,
    Header,
    Recording,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
)
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer

SCENES = Path(__file__).resolve().parent.parent / "chapters" / "gaps" / "scenes"
STEP_US = 25_000
EOS = 2
CACHE = "What is a KV cache?"


@dataclass
class Scene:
    """A recording that is being written. The steps are those of requests that run one after the other."""

    title: str
    num_tokenizer: int = 1
    lines: list[Event] = field(default_factory=list)
    requests: int = 0
    steps: int = 0

    def __post_init__(self) -> None:
        self._tokenizer = load_tokenizer(model_dir())

    def chat(self, at: int, content: str, answer: str, *, eos: bool = True, **more: Any) -> int:
        """A chat request, with the answer that the engine gives; returns its number."""
        messages = [{"role": "user", "content": content}]
        prompt = self._tokenizer.encode(self._tokenizer.apply_chat_template(messages), False)
        tokens = [*self._tokenizer.encode(answer, False), *([EOS] if eos else [])]
        asks = {"max_tokens": 64, "stream": True, **more}
        late_us = asks.pop("late_us", 0)
        rid = self._request(at, {"messages": messages, **asks})
        begin = at + 1_000 + late_us
        self.lines.append(ArriveLine(begin, [rid], []))
        for index, token in enumerate(tokens):
            launch = begin + index * STEP_US
            phase: Phase = "decode" if index else "prefill"
            self.lines += [
                StepLine(launch, self.steps, phase, [rid], [len(prompt) + index]),
                TokensLine(launch + STEP_US - 100, self.steps, [token]),
            ]
            self.steps += 1
        return rid

    def leave(self, rid: int, at: int) -> None:
        self.lines.append(DisconnectLine(at, rid, 1000))

    def write(self, name: str) -> None:
        header = Header(
            version=VERSION,
            model=None,
            served_model="minisgl-tutor",
            page_size=16,
            num_pages=64,
            num_slots=8,
            max_seq_len=1024,
            vocab_size=3072,
            prefill_budget=2048,
            cache="radix",
            overlap=True,
            num_tokenizer=self.num_tokenizer,
            backlog_limit=4096,
            eos_token_ids=[0, EOS],
            title=self.title,
        )
        lines = sorted(self.lines, key=lambda line: line.t)
        Recording(header, lines).write(SCENES / f"{name}.jsonl")

    def _request(self, at: int, body: dict[str, Any]) -> int:
        rid = self.requests
        self.requests += 1
        text = json.dumps({"model": "minisgl-tutor", **body}, ensure_ascii=False)
        self.lines += [
            RequestLine(at, rid, "POST", "/v1/chat/completions", text),
            SubmitLine(at, rid, rid, f"{rid:032x}", 1_767_225_600),
        ]
        return rid


def token_in_flight(index: int) -> int:
    """When that token of a request at time 0 is being computed."""
    return 1_000 + index * STEP_US + STEP_US // 2


def double_free() -> Scene:
    scene = Scene("A client leaves while the last token of its answer is computed")
    rid = scene.chat(0, "Goodbye", "再")
    scene.leave(rid, token_in_flight(1))
    scene.chat(200_000, "Goodbye", "再见", eos=False, max_tokens=3)
    scene.chat(200_000, CACHE, "KV cache", eos=False, max_tokens=2)
    return scene


def freed_and_cached() -> Scene:
    scene = Scene("A client leaves while the last of its prompt is computed")
    rid = scene.chat(0, CACHE, "KV cache")
    scene.leave(rid, token_in_flight(0))
    scene.chat(200_000, "What is a KV cache? And why?", "KV cache")
    scene.chat(400_000, CACHE, "KV cache")
    return scene


def dangling_page() -> Scene:
    scene = Scene("Two clients ask the same at the same time")
    for _ in range(2):
        scene.chat(0, CACHE, "KV cache")
    return scene


def early_slot() -> Scene:
    scene = Scene("A request comes while the step behind an end-of-sequence token runs")
    scene.chat(0, "Goodbye", "再")
    scene.chat(token_in_flight(2), CACHE, "KV cache")
    return scene


def overtaking_abort() -> Scene:
    scene = Scene("A client leaves while its long prompt is tokenized by one of two workers", num_tokenizer=2)
    rid = scene.chat(0, "long " * 300, "KV cache " * 4, eos=False, max_tokens=8, late_us=250_000)
    scene.leave(rid, 100_000)
    return scene


def main() -> None:
    SCENES.mkdir(parents=True, exist_ok=True)
    for make in (
        double_free,
        freed_and_cached,
        dangling_page,
        early_slot,
        overtaking_abort,
    ):
        make().write(make.__name__.replace("_", "-"))


if __name__ == "__main__":
    main()
