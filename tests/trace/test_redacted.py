"""A recording without texts is played with as many tokens as there were."""

from __future__ import annotations

import json

import msgspec
import pytest

from minisgl_tutor.recording import (
    ArriveLine,
    CutLine,
    Recording,
    RefuseLine,
    RequestLine,
    SubmitLine,
    TokensLine,
)
from minisgl_tutor.recording.redact import redacted_body, redacted_path, redacted_tokens, redacted_type
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
            path, kind = redacted_path(line.path), redacted_type(line.content_type)
            body = redacted_body(line.body)
            line = msgspec.structs.replace(line, path=path, content_type=kind, body=body)
        elif isinstance(line, TokensLine):
            line = msgspec.structs.replace(line, tokens=redacted_tokens(line.tokens, eos))
        elif isinstance(line, ArriveLine):
            lens = [script.prompts[uid] for uid in line.users]
            line = msgspec.structs.replace(line, prompt_lens=lens)
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


def completion(rid: int, **more: object) -> RequestLine:
    body = {"model": "toy", "prompt": "a secret", **more}
    return RequestLine(1_000, rid, "POST", "/v1/completions", json.dumps(body))


@pytest.mark.parametrize(
    "line",
    [
        completion(0, temperature=-1),
        completion(0, suffix="a secret"),
        completion(0, max_tokens="many"),
        completion(0, prompt=[]),
        msgspec.structs.replace(completion(0), path="/v1/secrets"),
        msgspec.structs.replace(completion(0), content_type="text/secret"),
        msgspec.structs.replace(completion(0), body='{"model": "toy", "a secret'),
    ],
)
def test_a_request_that_was_refused_is_refused(script, byte_tokenizer, line):
    """Even for what is left out of the recording, such as a field that the server does not know."""
    script.lines += [line, RefuseLine(1_100, 0, 404 if line.path.endswith("secrets") else 400)]
    recording = redacted(script)
    told = play(script.recording(), byte_tokenizer)
    result = play(recording, stand_in_tokenizer(recording.header))
    assert 400 <= result.exchanges[0].status == told.exchanges[0].status
    assert result.uids == {} and not result.findings
    assert b"secret" not in encoded([recording.lines, result.steps])


def refused_by_the_tokenizer(script, rid: int, path: str, body: dict[str, object], uids: int) -> None:
    text = json.dumps({"model": "toy", "max_tokens": 4, **body})
    script.lines.append(RequestLine(1_000, rid, "POST", path, text))
    script.lines += [SubmitLine(1_000, rid, uid, f"stamp{uid}", 1_700_000_000) for uid in range(uids)]
    script.lines.append(RefuseLine(1_200, rid, 400))


@pytest.mark.parametrize("more", [{}, {"n": 3}, {"stream": True}])
def test_a_conversation_that_the_template_refused_is_refused(script, more):
    """It had a uid for each choice; nothing of it got to the scheduler."""
    messages = [{"role": "assistant", "content": "no question"}]
    count = more.get("n", 1)
    refused_by_the_tokenizer(script, 0, "/v1/chat/completions", {"messages": messages, **more}, count)
    result = play(redacted(script), stand_in_tokenizer(script.recording().header))
    assert result.exchanges[0].status == 400
    assert {uid for step in result.steps for uid in step.uids} == set(range(count))
    assert calls(result) == [] and not result.findings and not any(result.held.values())


def test_of_several_prompts_the_one_that_was_refused_is_refused(script):
    script.prompts[0] = 6
    refused_by_the_tokenizer(script, 0, "/v1/completions", {"prompt": ["secret", ""]}, 2)
    script.lines.append(ArriveLine(1_040, [0], []))
    result = play(redacted(script), stand_in_tokenizer(script.recording().header))
    assert result.exchanges[0].status == 400 and not result.findings and not any(result.held.values())
    errors = [step.uids for step in result.steps if step.title == "ErrorReply"]
    assert errors == [[1]]


def test_what_was_ended_on_its_way_to_the_scheduler_is_ended_by_its_limit(script):
    """As when its tokenizer hangs: no refusal of the tokenizer's."""
    script.request(1_000, "", ends=False)
    script.lines = [line for line in script.lines if not isinstance(line, ArriveLine)]
    script.lines.append(CutLine(5_000, 0, 0, 0, 504, "first_token_timeout", "no token within 1 s"))
    script.lines.append(RefuseLine(5_100, 0, 504))
    result = play(redacted(script), stand_in_tokenizer(script.recording().header))
    assert result.exchanges[0].status == 504 and not result.findings
