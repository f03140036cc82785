"""Events are found in any cut of the bytes; chunks, usage, ends and errors are read from them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from minisgl_tutor.bench.answer import Answer, EventReader, RequestFailed, error_message
from minisgl_tutor.bench.asks import Ask

STREAM = [b'{"a":1}', "„值“ and\u2028more".encode(), b"two\nlines", b"[DONE]"]


def wire(newline: bytes) -> bytes:
    events = [
        b": a comment",
        b"data: " + STREAM[0],
        b"event: x\ndata:" + STREAM[1] + b"\nid: 3",
        b"data: two\ndata: lines",
        b"data: [DONE]",
    ]
    return b"".join(event.replace(b"\n", newline) + newline + newline for event in events)


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_events_are_the_same_for_every_cut(newline: bytes) -> None:
    sent = wire(newline)
    for size in [*range(1, 30), len(sent)]:
        reader = EventReader()
        pieces = [sent[start : start + size] for start in range(0, len(sent), size)]
        assert [data for piece in pieces for data in reader.feed(piece)] == STREAM


def answer(tokens: int | None = None) -> Answer:
    return Answer(Ask(0.0, "/v1/completions", {}, tokens), sent_s=1.0)


def chunk(delta: dict[str, Any] | str, reason: str | None = None, **more: Any) -> bytes:
    piece = {"text": delta} if isinstance(delta, str) else {"delta": delta}
    return json.dumps({"choices": [{"index": 0, **piece, "finish_reason": reason}], **more}).encode()


def test_what_has_text_counts_and_nothing_else() -> None:
    one = answer()
    events = [
        (chunk({"role": "assistant", "content": ""}), 2.0, False),
        (chunk({"content": "a"}), 3.0, True),
        (chunk({"reasoning_content": "b"}), 4.0, True),
        (chunk("c"), 6.0, True),
        (chunk("", "length"), 7.0, False),
        (b'{"choices":[],"usage":{"prompt_tokens":4,"completion_tokens":5}}', 7.0, False),
        (b"[DONE]", 7.0, False),
    ]
    assert [one.take(data, now) for data, now, _ in events] == [text for *_, text in events]
    one.end_s = 7.5
    one.close()
    assert (one.tokens, len(one.chunk_times), one.finish_reason) == (5, 3, "length")
    assert (one.first_s, one.gaps_s, one.per_token_s, one.whole_s) == (2.0, [1.0, 2.0], 0.75, 6.5)


def test_without_usage_a_chunk_is_a_token() -> None:
    one = answer()
    one.take(chunk("a"), 2.0)
    assert one.tokens == 1 and one.per_token_s is None


@pytest.mark.parametrize("said, short", [(255, True), (256, False), (257, False)])
def test_one_token_less_than_must_be_is_short(said: int, short: bool) -> None:
    one = answer(256)
    one.take(json.dumps({"choices": [], "usage": {"completion_tokens": said}}).encode(), 2.0)
    assert one.is_short is short


@pytest.mark.parametrize(
    "data, kind, message",
    [
        (b'{"error": {"message": "a worker  died", "code": 500}}', "error event", "a worker died"),
        (b'{"error": "no"}', "error event", "no"),
        (b"{", "not the OpenAI protocol", ""),
        (b'{"choices": 3}', "not the OpenAI protocol", ""),
        (b"\xff", "not the OpenAI protocol", ""),
    ],
)
def test_an_event_that_is_none(data: bytes, kind: str, message: str) -> None:
    with pytest.raises(RequestFailed) as failed:
        answer().take(data, 1.0)
    assert failed.value.kind == kind
    assert message in str(failed.value)


def test_a_stream_that_stops_is_broken_off() -> None:
    one = answer()
    one.take(chunk("a"), 2.0)
    with pytest.raises(RequestFailed) as failed:
        one.close()
    assert failed.value.kind == "broken off"
    one.take(b"[DONE]", 3.0)
    one.close()


@pytest.mark.parametrize(
    "body, message",
    [(b'{"error": {"message": "too long"}}', "too long"), (b"[]", "[]"), (b"<h1>\xff", "<h1>\ufffd")],
)
def test_a_refusal_says_what_it_says(body: bytes, message: str) -> None:
    assert error_message(body) == message
