"""Reported faults: text out of tokens, and the form of answers (B and C of ``docs/cases.md``)."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from minisgl_tutor.engine.base import EngineInfo
from minisgl_tutor.message import DetokenizeMsg
from minisgl_tutor.tokenizer.load import load_eos_token_ids

EOS, EOT = 256, 257
both_ways = pytest.mark.parametrize("stream", [False, True])
both_paths = pytest.mark.parametrize("path", ["chat/completions", "completions"])


def body(exchange):
    return json.loads(exchange.body)


def asked(path):
    return {"prompt": "go"} if path == "completions" else {}


def text_of(choice):
    return choice["text"] if "text" in choice else choice.get("message", choice.get("delta"))["content"]


@both_ways
def test_case_b5_nothing_is_generated_behind_a_stop_string(serving, events, stream):
    async def main(it):
        exchange = await it.answer(stop=["DEF"], max_tokens=100, stream=stream)
        if stream:
            assert "DE" not in exchange.body.decode()
        await asyncio.sleep(0.2)
        tokens = [msg for msg in it.sent("DetokenizeMsg") if msg.get("next_token") is not None]
        assert len(tokens) <= len("ABCDEF") + 2  # those whose steps were launched meanwhile
        assert it.stage.scheduler.held() == {}

    serving(main, {0: b"ABCDEF"})


@both_ways
def test_case_b7_each_of_several_end_of_turn_ids_ends_an_answer(serving, scripted, stream):
    ids = [*b"Hi", EOT, *b"!", EOS, *b"?"]
    engine = scripted(EngineInfo(4, 64, 8, 128, 258), {0: ids, 1: ids})

    async def main(it):
        first = await it.answer(max_tokens=6, stream=stream)
        second = await it.answer(max_tokens=6, ignore_eos=True, stream=stream)
        for exchange, text, reason in ((first, "Hi", "stop"), (second, "Hi!?", "length")):
            seen = exchange.body.decode()
            assert "<|" not in seen and f'"finish_reason":"{reason}"' in seen
            if not stream:
                assert text_of(body(exchange)["choices"][0]) == text
        assert len([msg for msg in it.sent("DetokenizeMsg") if msg["uid"] == 0]) == 3

    serving(main, engine=engine, special=("<|eos|>", "<|eot|>"))


@pytest.mark.parametrize("config", [257, [257], [256, 257]])
@pytest.mark.parametrize("generation", [None, 258, [258, 257]])
def test_case_b7_end_of_turn_ids_are_those_of_all_files(tmp_path: Path, byte_tokenizer, config, generation):
    (tmp_path / "config.json").write_text(json.dumps({"eos_token_id": config}))
    if generation is not None:
        (tmp_path / "generation_config.json").write_text(json.dumps({"eos_token_id": generation}))
    expected = {256, 257} if generation is None else {256, 257, 258}
    assert load_eos_token_ids(tmp_path, byte_tokenizer) == expected


def test_case_b8_a_token_that_comes_after_the_end_is_ignored(make_rig):
    """What ends a request in the scheduler ends it for good: no token of it reaches the detokenizer after."""
    rig = make_rig()
    rig.send(0, 4, max_tokens=50)
    rig.round(3)
    rig.abort(0)
    replies = rig.finish()
    assert [msg.finished for msg in replies if isinstance(msg, DetokenizeMsg)][-1:] == [True]
    assert [msg for msg in replies if msg.uid == 0 and msg.finished] == replies[-1:]
    rig.assert_all_free()


@both_paths
def test_case_c1_a_stream_has_one_id_one_time_and_one_end(serving, events, path):
    async def main(it):
        *chunks, done = events(await it.answer(path, stream=True, max_tokens=3, **asked(path)))
        assert done == "[DONE]"
        assert len({(chunk["id"], chunk["created"], chunk["model"]) for chunk in chunks}) == 1
        name = "text_completion" if path == "completions" else "chat.completion.chunk"
        assert {chunk["object"] for chunk in chunks} == {name}
        ends = [chunk["choices"][0]["finish_reason"] for chunk in chunks]
        assert [end for end in ends if end is not None] == ["length"]

    serving(main, {0: b"0123456789"})


@both_paths
def test_case_c2_a_stream_only_if_asked_for(serving, events, path):
    async def main(it):
        for stream in ({}, {"stream": None}, {"stream": False}):
            exchange = await it.answer(path, max_tokens=4, **stream, **asked(path))
            assert exchange.headers["content-type"] == "application/json"
            assert body(exchange)["object"] == (
                "text_completion" if path == "completions" else "chat.completion"
            )
            (choice,) = body(exchange)["choices"]
            assert text_of(choice) == "four"
            if path != "completions":
                assert choice["message"]["role"] == "assistant"
        exchange = await it.answer(path, max_tokens=4, stream=True, **asked(path))
        *chunks, _ = events(exchange)
        assert exchange.body.endswith(b"data: [DONE]\n\n")
        pieces = [chunk["choices"][0] for chunk in chunks]
        assert "".join(p.get("text") or p.get("delta", {}).get("content") or "" for p in pieces) == "four"

    serving(main, {uid: b"four" for uid in range(4)})


@both_paths
def test_case_c3_the_usage_chunk_comes_only_if_asked_for(serving, events, path):
    async def main(it):
        asks = {"max_tokens": 4, **asked(path)}
        whole = body(await it.answer(path, **asks))["usage"]
        for options in ({}, {"stream_options": None}, {"stream_options": {"include_usage": False}}):
            *chunks, _ = events(await it.answer(path, stream=True, **options, **asks))
            assert all(len(chunk["choices"]) == 1 and not chunk.get("usage") for chunk in chunks)
        exchange = await it.answer(path, stream=True, stream_options={"include_usage": True}, **asks)
        *chunks, usage, _ = events(exchange)
        assert usage["choices"] == [] and chunks[-1]["choices"][0]["finish_reason"] == "length"
        # The prompt is cached by now; else the numbers are the same.
        numbers = usage["usage"]
        assert [numbers[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")] == [
            whole[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")
        ]
        assert all(chunk["choices"] and chunk["usage"] is None for chunk in chunks)

    serving(main)


def test_case_c3_usage_counts_tokens_and_not_chunks(serving, events):
    async def main(it):
        exchange = await it.answer(stream=True, stream_options={"include_usage": True}, max_tokens=4)
        assert events(exchange)[-2]["usage"]["completion_tokens"] == 4

    serving(main, {0: "👋".encode()})


def test_case_c3_usage_of_a_stream_goes_with_a_stream(serving):
    """A choice: OpenAI refuses it, others ignore it; here nothing is ignored."""

    async def main(it):
        exchange = await it.answer(stream_options={"include_usage": True})
        assert (exchange.status, body(exchange)["error"]["param"]) == (400, "stream_options")

    serving(main)


@pytest.mark.parametrize("n", [1, 3])
def test_case_c6_the_first_delta_alone_has_the_role(serving, events, n):
    async def main(it):
        *chunks, _ = events(await it.answer(stream=True, max_tokens=4, n=n))
        for index in range(n):
            first, *others = [
                chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"][0]["index"] == index
            ]
            assert first["role"] == "assistant"
            assert others and not any("role" in delta for delta in others)

    serving(main)


def test_case_b8_an_abort_of_a_request_that_is_not_there_is_ignored(make_rig):
    rig = make_rig()
    rig.abort(3)
    assert rig.finish() == []
    rig.assert_all_free()
