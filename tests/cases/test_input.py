"""Reported faults: what clients send (D of ``docs/cases.md``)."""

from __future__ import annotations

import json

import pytest

from minisgl_tutor.engine.base import EngineInfo

USER = {"role": "user", "content": "go"}
ALTERNATING = """{% for m in messages %}
{% if m['role'] != ['user', 'assistant'][loop.index0 % 2] %}
{{ raise_exception('Roles must alternate, the user first.') }}
{% endif %}{{ m['role'] }}:{{ m['content'] }}
{% endfor %}"""
both_ways = pytest.mark.parametrize("stream", [False, True])
both_paths = pytest.mark.parametrize("path", ["chat/completions", "completions"])


def body(exchange):
    return json.loads(exchange.body)


def told(exchange):
    return body(exchange)["error"]


def asked(path):
    return {"prompt": "go"} if path == "completions" else {}


@both_ways
def test_case_d2_about_the_longest_prompt_that_fits(serving, scripted, stream):
    """A limit of 32 tokens, and each refusal followed by a request that is served."""

    async def main(it):
        for length in (30, 31, 32, 33, 5000):
            exchange = await it.answer("completions", prompt="x" * length, max_tokens=1, stream=stream)
            assert exchange.status == (200 if length < 32 else 400)
            if length < 32:
                assert '"finish_reason":"length"' in exchange.body.decode()
            else:
                assert (
                    f"{length} tokens" in told(exchange)["message"]
                    and "32 tokens" in told(exchange)["message"]
                )
            assert (await it.answer(max_tokens=1)).status == 200
            assert not any(it.stage.held().values())

    serving(main, engine=scripted(EngineInfo(4, 64, 8, 32, 257)))


@both_paths
@pytest.mark.parametrize("value", [0, -1, -5, 1.5, "x", [], {}])
def test_case_d3_a_wrong_max_tokens_is_refused(serving, path, value):
    async def main(it):
        exchange = await it.answer(path, max_tokens=value, **asked(path))
        assert (exchange.status, told(exchange)["param"]) == (400, "max_tokens")
        assert it.sent("TokenizeMsg") == []

    serving(main)


@both_paths
@pytest.mark.parametrize(
    ("value", "tokens"),
    [(1, 1), ("5", 5), (True, 1), (5.0, 5), (10**12, None), (10**30, None), (None, "default")],
)
def test_case_d3_what_max_tokens_is_taken_for(serving, path, value, tokens):
    """Lenient about the form; a number beyond the room is the room; without one, 16 or (chat) the room."""
    room = 128 - (2 if path == "completions" else len("user:go\n"))
    if tokens == "default":
        tokens = 16 if path == "completions" else None

    async def main(it):
        exchange = await it.answer(path, max_tokens=value, **asked(path))
        assert body(exchange)["usage"]["completion_tokens"] == (tokens or room)
        assert body(exchange)["choices"][0]["finish_reason"] == "length"
        decodes = [s for s in it.stage.tracer.steps if s.content and s.content[0].get("type") == "decode"]
        assert tokens != 1 or decodes == []

    serving(main)


@both_ways
@pytest.mark.parametrize(
    "messages", [[{"role": "assistant", "content": "hi"}], [USER, USER], [{"role": "system", "content": "s"}]]
)
def test_case_d4_what_a_template_refuses_is_the_clients_error(serving, stream, messages):
    async def main(it):
        before = await it.answer(max_tokens=2)
        exchange = await it.answer(messages=messages, stream=stream)
        error = told(exchange)
        assert (exchange.status, error["code"], error["param"]) == (400, "chat_template_error", "messages")
        assert "Roles must alternate, the user first." in error["message"]
        assert "/" not in error["message"] and "Traceback" not in error["message"]
        after = await it.answer(max_tokens=2)
        assert body(after)["usage"]["prompt_tokens"] == body(before)["usage"]["prompt_tokens"]

    serving(main, template=ALTERNATING)


def test_case_d4_a_template_that_takes_any_turn_is_given_them(serving):
    """What is refused is up to the model's template: this one takes each conversation."""

    async def main(it):
        for messages in ([{"role": "assistant", "content": "hi"}], [USER, USER]):
            assert (await it.answer(messages=messages, max_tokens=1)).status == 200

    serving(main)


def test_case_d6_parts_are_joined_with_nothing_between(serving):
    async def main(it):
        parts = [{"type": "text", "text": "AAAA"}, {"type": "text", "text": "BBBB"}]
        in_parts = await it.answer(messages=[{"role": "user", "content": parts}], max_tokens=2)
        whole = await it.answer(messages=[{"role": "user", "content": "AAAABBBB"}], max_tokens=2)
        assert body(in_parts)["usage"]["prompt_tokens"] == body(whole)["usage"]["prompt_tokens"]
        first, second = it.sent("UserMsg")
        assert first["input_ids"] == second["input_ids"] == list(b"user:AAAABBBB\n")
        silent = [{"role": "assistant", "content": None}, {"role": "user", "content": "x"}]
        assert (await it.answer(messages=silent, max_tokens=2)).status == 200

    serving(main)


@both_ways
@pytest.mark.parametrize(
    ("content", "word"),
    [
        ([], "no parts"),
        ([{"type": "image_url", "image_url": {"url": "http://x/y.png"}}], "image_url"),
        ([{"type": "text", "text": "a"}, {"type": "input_audio", "input_audio": {}}], "input_audio"),
        ([{"type": "text", "text": 0}], "part 0"),
        ([{"type": "text"}], "part 0"),
        (["text"], "part 0"),
        ([None], "part 0"),
        ([[]], "part 0"),
        ([{"type": ["text"], "text": "a"}], "part 0"),
        (None, "content"),
    ],
)
def test_case_d6_no_part_is_dropped_silently(serving, stream, content, word):
    async def main(it):
        exchange = await it.answer(messages=[{"role": "user", "content": content}], stream=stream)
        assert exchange.status == 400 and word in told(exchange)["message"]
        assert told(exchange)["param"].startswith("messages.0")

    serving(main)


@both_ways
@pytest.mark.parametrize(
    "raw",
    [
        rb'{"model":"toy","prompt":"\udcf0"}',
        rb'{"model":"toy","prompt":["ok","\ud83d"]}',
        rb'{"model":"toy","prompt":"x","user":"\udcf0","stop":"\udcf0"}',
        rb'{"model":"toy","prompt":"x","suffix":"\udcf0"}',
        rb'{"model":"toy","prompt":"x","\udcf0":1}',
        b'{"model":"toy","prompt":"\xff\xfe"}',
        b'{"prompt": "\xff\xfe"}',
    ],
)
def test_case_d7_half_a_character_wherever_it_stands(serving, stream, raw):
    async def main(it):
        sent = raw[:-1] + (b',"stream":true}' if stream else b"}")
        headers = {"content-type": "application/json"}
        exchange = it.asgi.request("POST", "/v1/completions", headers=headers, body=sent)
        await exchange.wait()
        assert exchange.status == 400 and told(exchange)["message"]
        assert (await it.answer(max_tokens=1)).status == 200

    serving(main)


def test_case_d7_a_field_that_nobody_reads_may_hold_anything(serving):
    """``user`` is accepted and nothing is done with it, so nothing in it can do harm."""

    async def main(it):
        raw = rb'{"model":"toy","prompt":"x","user":"\udcf0","metadata":{"a":"\ud83d"},"max_tokens":1}'
        headers = {"content-type": "application/json"}
        exchange = it.asgi.request("POST", "/v1/completions", headers=headers, body=raw)
        await exchange.wait()
        assert exchange.status == 200

    serving(main)
