"""A recorded request for several choices is played with each choice's own tokens, and audited for each."""

from __future__ import annotations

import json

import msgspec
import pytest

from minisgl_tutor.recording import RequestLine, SubmitLine
from minisgl_tutor.trace.play import play


def two_choices(script, stream: bool) -> None:
    """Two recorded requests become one for two choices."""
    first, second = (script.request(1_000, text, stream=stream) for text in ("first answer", "second"))
    lines = []
    for line in script.lines:
        if isinstance(line, RequestLine) and line.rid == first:
            line = msgspec.structs.replace(line, body=json.dumps({**json.loads(line.body), "n": 2}))
        elif isinstance(line, RequestLine):
            continue
        if isinstance(line, SubmitLine):
            line = msgspec.structs.replace(line, rid=first)
        lines.append(line)
    script.lines = lines
    assert second == 1


@pytest.mark.parametrize("stream", [False, True])
def test_each_choice_has_its_own_tokens(script, byte_tokenizer, stream):
    two_choices(script, stream)
    result = play(script.recording(), byte_tokenizer)
    body = result.exchanges[0].body.decode()
    if stream:
        texts = {0: "", 1: ""}
        for event in body.split("\n\n")[:-2]:
            (choice,) = json.loads(event.removeprefix("data: "))["choices"]
            texts[choice["index"]] += choice["delta"].get("content", "")
    else:
        texts = {choice["index"]: choice["message"]["content"] for choice in json.loads(body)["choices"]}
        assert json.loads(body)["id"] == "chatcmpl-stamp0"
    assert texts == {0: "first answer", 1: "second"}
    assert result.findings == [] and not any(result.held.values())


def test_each_choice_is_audited(script, byte_tokenizer):
    two_choices(script, stream=False)
    script.leave(0, 60_000)
    clean = play(script.recording(), byte_tokenizer)
    assert clean.findings == []
    blind = play(script.recording(), byte_tokenizer, ["blind-collect"])
    assert [(finding.uid, finding.gap) for finding in blind.findings] == [
        (0, "blind-collect"),
        (1, "blind-collect"),
    ]
