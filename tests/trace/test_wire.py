"""What a client is told of its answer, held against what the server knows of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minisgl_tutor.gaps import claims_of
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.steps import Step
from minisgl_tutor.trace.wire import WireAuditor


def step(kind: Any, content: dict[str, Any], uids: list[int]) -> Step:
    return Step(1, 0, kind, "detokenizer", "api", "chunk", uids, [content], [])


def ended(uid: int, reason: str, tokens: int) -> Step:
    usage = {"prompt_tokens": 1, "completion_tokens": tokens, "cached_tokens": 0}
    return step("message", {"uid": uid, "finished": True, "finish_reason": reason, "usage": usage}, [uid])


def sent(uids: list[int], text: str) -> Step:
    return step("client", {"request": 0, "text": text}, uids)


def body(reason: str | None, tokens: int | None = None, index: int = 0, kind: str = "chat.completion") -> str:
    usage = None if tokens is None else {"completion_tokens": tokens}
    choice = {"index": index, "finish_reason": reason}
    return json.dumps({"object": kind, "choices": [choice], "usage": usage})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (body("stop", 3), "ended by 'stop'; it ended by 'length'"),
        (body("length", 0), "has 0 tokens; it has 3"),
        (body("length", 3, kind="text_completion.chunk"), "type 'text_completion.chunk'"),
        (f"data: {body(None)}\n\ndata: {body('stop')}\n\ndata: [DONE]\n\n", "ended by 'stop'"),
    ],
)
def test_what_is_not_so_is_found_once(text: str, said: str) -> None:
    auditor = WireAuditor()
    assert auditor.watch(ended(7, "length", 3)) == []
    (finding,) = auditor.watch(sent([7], text))
    assert (finding.uid, finding.gap, finding.claims) == (7, "reference-wire", claims_of("reference-wire"))
    assert said in str(finding.note)
    assert auditor.watch(sent([7], text)) == []


@pytest.mark.parametrize(
    "text",
    [
        body("length", 3),
        body(None),
        body("stop", index=5),
        body("stop", index=-1),
        '{"choices": [1]}',
        '{"choices": 1}',
        '{"error": {"message": "no"}}',
        "data: [DONE]\n\n",
        "data: {broken",
        "",
    ],
)
def test_what_is_so_or_is_no_answer_is_let_pass(text: str) -> None:
    auditor = WireAuditor()
    auditor.watch(ended(7, "length", 3))
    assert auditor.watch(sent([7], text)) == []


def test_the_choices_of_a_request_are_told_apart() -> None:
    auditor = WireAuditor()
    auditor.watch(ended(7, "length", 3))
    auditor.watch(ended(8, "stop", 2))
    assert auditor.watch(sent([7, 8], body("stop", 5, index=1))) == []
    assert "ended by 'stop'" in str(auditor.watch(sent([7, 8], body("stop", 5, index=0)))[0].note)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("limit", [2, 200])
def test_on_the_stage_only_the_reference_is_found(script, byte_tokenizer, stream: bool, limit: int) -> None:
    script.request(0, "hello", stream=stream, limit=limit)
    recording = script.recording()
    assert play(recording, byte_tokenizer).findings == []
    assert {each.gap for each in play(recording, byte_tokenizer, ["reference-wire"]).findings} == {
        "reference-wire"
    }
