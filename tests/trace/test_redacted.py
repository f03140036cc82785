"""A recording without texts is played with as many tokens as there were."""

from __future__ import annotations

import json

import msgspec
import pytest

from minisgl_tutor.recording import ArriveLine, Recording, RequestLine, TokensLine
from minisgl_tutor.recording.redact import redacted_body, redacted_tokens
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.redacted import stand_in_tokenizer
from minisgl_tutor.trace.steps import encoded


def redacted(script) -> Recording:
    """What the recorder would have written with ``--redact``."""
    recording = script.recording()
    eos = recording.header.eos_token_ids
    lines = []
    for line in recording.lines:
        if isinstance(line, RequestLine):
            line = msgspec.structs.replace(line, body=redacted_body(line.body))
        elif isinstance(line, TokensLine):
            line = msgspec.structs.replace(line, tokens=redacted_tokens(line.tokens, eos))
        elif isinstance(line, ArriveLine):
            line = msgspec.structs.replace(line, prompt_lens=[script.prompts[uid] for uid in line.users])
        lines.append(line)
    return Recording(msgspec.structs.replace(recording.header, redacted=True), lines)


def calls(result):
    """How much of a prompt is cached already is another matter: all texts are alike."""
    return [
        (step.t_us, [(row["type"], row["uid"], row["length"]) for row in step.content])
        for step in result.steps
        if step.kind == "call"
    ]


@pytest.mark.parametrize("stream", [True, False])
def test_it_takes_the_same_steps_and_says_nothing(script, byte_tokenizer, stream):
    script.request(1_000, "the secret answer", content="a secret question", stream=stream)
    leaver = script.request(3_000, "another secret " * 3, content="and another", ends=False)
    script.leave(leaver, 90_000)
    recording = redacted(script)
    result = play(recording, stand_in_tokenizer(recording.header))
    assert calls(result) == calls(play(script.recording(), byte_tokenizer))
    assert not result.beyond and not result.findings
    assert b"secret" not in encoded([recording.lines, result.steps])
    body = result.exchanges[0].body
    assert (b'"x"' in body or b"xxxxx" in body) and result.exchanges[0].status == 200


def test_an_answer_that_ended_by_a_stop_string_ends_where_it_did(script, byte_tokenizer):
    script.request(1_000, "abcde", ends=False)
    request = script.lines[0]
    body = {**json.loads(request.body), "stop": ["e"]}
    script.lines[0] = msgspec.structs.replace(request, body=json.dumps(body))
    recording = redacted(script)
    result = play(recording, stand_in_tokenizer(recording.header))
    assert not result.beyond and len(calls(result)) == 5
