"""Faults that were reported of servers of this kind, over HTTP. A test's name has the case's id."""

from __future__ import annotations

import json

import pytest

EOS = 256
GO = [{"role": "user", "content": "go"}]
both_ways = pytest.mark.parametrize("stream", [False, True])


def body(exchange):
    return json.loads(exchange.body)


def told(exchange):
    return body(exchange)["error"]


def text_and_end(exchange, events):
    """Of an answer in either way."""
    if not exchange.headers["content-type"].startswith("text/event-stream"):
        choice = body(exchange)["choices"][0]
        return choice["message"]["content"], choice["finish_reason"]
    pieces = [chunk["choices"][0] for chunk in events(exchange)[:-1]]
    (reason,) = [piece["finish_reason"] for piece in pieces if piece["finish_reason"]]
    return "".join(piece["delta"].get("content", "") for piece in pieces), reason


@both_ways
def test_case_b3_an_answer_cut_within_a_character_is_valid_text(serving, events, stream):
    wave = list("👋".encode())

    async def main(it):
        assert text_and_end(await it.answer(max_tokens=3, stream=stream), events) == ("\ufffd", "length")
        assert text_and_end(await it.answer(max_tokens=4, stream=stream), events) == ("👋", "length")
        assert text_and_end(await it.answer(max_tokens=9, stream=stream), events) == ("\ufffd", "stop")

    serving(main, {0: wave, 1: wave, 2: [*wave[:3], EOS]})


@both_ways
def test_case_b5_a_stop_string_over_several_tokens(serving, events, stream):
    async def main(it):
        asked = {"stop": ["DEFGHIJ"], "max_tokens": 11, "stream": stream}
        assert text_and_end(await it.answer(**asked), events) == ("ABC", "stop")
        assert text_and_end(await it.answer(**{**asked, "max_tokens": 8}), events) == ("ABCDEFGK", "length")

    serving(main, {0: b"ABCDEFGHIJK", 1: b"ABCDEFGK"})


@both_ways
def test_case_c1_reasons_and_counts_are_true(serving, events, stream):
    async def main(it):
        options = {"stream_options": {"include_usage": True}} if stream else {}
        for limit, reason, tokens in ((3, "length", 3), (50, "stop", 6), (6, "stop", 6)):
            exchange = await it.answer(max_tokens=limit, stream=stream, **options)
            usage = events(exchange)[-2]["usage"] if stream else body(exchange)["usage"]
            assert usage["completion_tokens"] == tokens and usage["prompt_tokens"] == 8
            assert usage["total_tokens"] == 8 + tokens
            if stream:
                ends = [chunk["choices"][0]["finish_reason"] for chunk in events(exchange)[:-2]]
                assert [end for end in ends if end] == [reason]
            else:
                assert body(exchange)["choices"][0]["finish_reason"] == reason

    serving(main, {uid: [*b"plain", EOS] for uid in range(3)})


@both_ways
@pytest.mark.parametrize("wrong", [{"n": 0}, {"max_tokens": -1}, {"messages": []}])
def test_case_c4_a_wrong_value_has_the_status_of_an_error_before_any_event(serving, stream, wrong):
    async def main(it):
        exchange = await it.answer(stream=stream, **wrong)
        assert exchange.status == 400 and exchange.headers["content-type"] == "application/json"
        assert set(told(exchange)) == {"message", "type", "param", "code"}
        assert it.sent("TokenizeMsg") == []

    serving(main)


@both_ways
def test_case_d1_a_prompt_without_tokens(serving, stream):
    async def main(it):
        for prompt in ("", [""]):
            exchange = await it.answer("completions", prompt=prompt, stream=stream)
            assert (exchange.status, told(exchange)["code"]) == (400, "empty_prompt")
        assert (await it.answer("completions", prompt=[], stream=stream)).status == 400
        assert (await it.answer(messages=[{"role": "user", "content": ""}], max_tokens=4)).status == 200
        assert (await it.answer("completions", prompt="hi", max_tokens=4)).status == 200

    serving(main)


@both_ways
def test_case_d2_prompts_about_as_long_as_the_limit(serving, stream):
    """The limit is 128 tokens: an answer is cut there, and a prompt that leaves no room is refused."""

    async def main(it):
        for length, room in ((126, 2), (127, 1)):
            exchange = await it.answer("completions", prompt="x" * length, max_tokens=4)
            assert body(exchange)["usage"]["completion_tokens"] == room
            assert body(exchange)["choices"][0]["finish_reason"] == "length"
        for length in (128, 129, 5000):
            exchange = await it.answer("completions", prompt="x" * length, max_tokens=1, stream=stream)
            error = told(exchange)
            assert (exchange.status, error["code"]) == (400, "context_length_exceeded")
            assert f"{length} tokens" in error["message"] and "128 tokens" in error["message"]
        assert (await it.answer(max_tokens=1)).status == 200

    serving(main)


@both_ways
@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "user"}],
        [{"content": "x"}],
        "hi",
        None,
        [{"role": "user", "content": 3}],
        [{"role": "nobody", "content": "x"}],
    ],
)
def test_case_d4_what_is_no_conversation_is_refused(serving, stream, messages):
    async def main(it):
        exchange = await it.answer(messages=messages, stream=stream)
        error = told(exchange)
        assert exchange.status == 400 and "messages" in error["param"]
        assert "/" not in error["message"] and "Traceback" not in error["message"]
        assert body(await it.answer(max_tokens=2))["usage"]["prompt_tokens"] == 8

    serving(main)


@both_ways
@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (rb'{"model":"toy","messages":[{"role":"user","content":"emoji \ud83d"}],"max_tokens":2}', 400),
        (rb'{"model":"toy","messages":[{"role":"user","content":"ok \ud83d\ude00"}],"max_tokens":2}', 200),
        (rb'{"model":"\udcf0","messages":[{"role":"user","content":"x"}],"max_tokens":2}', 400),
        (rb'{"model":"toy","stop":"\udcf0","messages":[{"role":"user","content":"x"}],"max_tokens":2}', 400),
        (b'{"model":"toy","messages":[{"role":"user","content":"\xff\xfe"}]}', 400),
    ],
)
def test_case_d7_half_a_character(serving, stream, raw, status):
    async def main(it):
        sent = raw[:-1] + (b', "stream": true}' if stream else b"}")
        headers = {"content-type": "application/json"}
        exchange = it.asgi.request("POST", "/v1/chat/completions", headers=headers, body=sent)
        await exchange.wait()
        assert exchange.status == status
        assert (await it.answer(max_tokens=1)).status == 200

    serving(main)
