"""A chat template that asks for the date gets that of the recording, on whatever day it is played."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from minisgl_tutor.cli.trace_plays import tokenizer_of
from minisgl_tutor.recording import Event, SubmitLine
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.wall import recorded_clock

CREATED = 1_700_000_000  # 2023-11-14 22:13:20 UTC, as the script says of each request
TEMPLATE = "{{ strftime_now('%Y-%m-%d %H:%M:%S') }} {{ messages[0]['content'] }}"


@pytest.fixture
def dated_model(byte_tokenizer, tmp_path: Path) -> Path:
    """A model whose chat template says the time."""
    byte_tokenizer._library.save(str(tmp_path / "tokenizer.json"))
    config = {"eos_token": "<|im_end|>", "chat_template": TEMPLATE}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    return tmp_path


def later(line: Event) -> Event:
    return msgspec.structs.replace(line, created=CREATED + 1) if isinstance(line, SubmitLine) else line


def prompts(recording, tokenizer) -> list[str]:
    steps = play(recording, tokenizer).steps
    return [
        tokenizer.decode(message["input_ids"])
        for step in steps
        for message in (step.content if step.kind == "message" else ())
        if message["type"] == "UserMsg"
    ]


@pytest.mark.parametrize(
    ("offset", "first", "second"),
    [
        (msgspec.UNSET, "2023-11-14 22:13:20 hi", "2023-11-14 22:13:21 hi"),
        (8 * 3600, "2023-11-15 06:13:20 hi", "2023-11-15 06:13:21 hi"),
        (-5 * 3600, "2023-11-14 17:13:20 hi", "2023-11-14 17:13:21 hi"),
    ],
)
def test_a_template_is_told_the_recorded_time(script, dated_model: Path, offset, first, second) -> None:
    script.request(5_000, "a")
    script.request(1_005_000, "b")
    recording = script.recording()
    lines = [later(line) if getattr(line, "rid", 0) == 1 else line for line in recording.lines]
    header = msgspec.structs.replace(recording.header, utc_offset=offset)
    recording = msgspec.structs.replace(recording, header=header, lines=lines)
    assert prompts(recording, tokenizer_of(recording, dated_model)) == [first, second]


def test_before_a_play_it_is_the_beginning_and_without_a_request_it_is_no_error(script) -> None:
    assert recorded_clock(script.recording())() == datetime(1970, 1, 1)
    script.request(2_000_000, "a")
    assert recorded_clock(script.recording())() == datetime(2023, 11, 14, 22, 13, 18, 500_000)
