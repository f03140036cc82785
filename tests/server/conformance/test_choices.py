"""Several answers to one request: ``n`` and lists of prompts."""

from __future__ import annotations

import asyncio
import json

import pytest

from minisgl_tutor.trace.asgi import Reader

EOS = 256


def choices(exchange):
    return json.loads(exchange.body)["choices"]


def test_case_d11_each_choice_has_its_own_seed_text_and_end(serving):
    async def main(it):
        asked = {"n": 2, "seed": 7, "temperature": 1.0, "max_tokens": 4}
        first, again = await it.answer(**asked), await it.answer(**asked)
        body = json.loads(first.body)
        assert [
            (choice["index"], choice["message"]["content"], choice["finish_reason"])
            for choice in body["choices"]
        ] == [(0, "hhhh", "length"), (1, "iiii", "length")]
        assert body["usage"]["completion_tokens"] == 8
        assert body["usage"]["prompt_tokens"] == 8
        assert body["choices"] == choices(again)
        assert [params.seed for params in it.params] == [7, 8, 7, 8]

    serving(main)


def test_the_first_choice_is_that_of_a_request_for_one(serving):
    async def main(it):
        one, two = await it.answer(seed=3, max_tokens=3), await it.answer(seed=3, max_tokens=3, n=2)
        assert choices(one)[0] == choices(two)[0]

    serving(main)


@pytest.mark.parametrize("path", ["chat/completions", "completions"])
def test_the_events_of_choices_say_whose_they_are(serving, events, path):
    async def main(it):
        body = {"prompt": "go"} if path == "completions" else {}
        exchange = await it.answer(
            path, n=3, stream=True, max_tokens=9, stream_options={"include_usage": True}, **body
        )
        *chunks, usage, done = events(exchange)
        assert done == "[DONE]" and usage["choices"] == []
        assert usage["usage"]["completion_tokens"] == 3 + 9 + 2
        texts, ends, roles = {}, {}, {}
        for chunk in chunks:
            (choice,) = chunk["choices"]
            index = choice["index"]
            assert index not in ends
            delta = choice.get("delta", {})
            texts[index] = texts.get(index, "") + (delta.get("content") or choice.get("text") or "")
            roles[index] = roles.get(index, 0) + ("role" in delta)
            if choice["finish_reason"]:
                ends[index] = choice["finish_reason"]
        assert texts == {0: "ab", 1: "long text", 2: "c"}
        assert ends == {0: "stop", 1: "length", 2: "stop"}
        assert set(roles.values()) == {int(path == "chat/completions")}
        assert len({chunk["id"] for chunk in chunks}) == 1

    serving(main, {0: [*b"ab", EOS], 1: list(b"long text"), 2: [*b"c", EOS]})


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
def test_a_client_that_leaves_frees_all_choices(serving, stream, spec_version):
    async def main(it):
        it.asgi.spec_version = spec_version
        exchange = it.ask(n=3, stream=stream, max_tokens=100, reader=Reader(leaves_at_us=200_000))
        await exchange.wait()
        await asyncio.sleep(0.1)
        assert sorted(msg["uid"] for msg in it.sent("AbortMsg")) == [0, 1, 2]
        assert len(it.sent("DetokenizeMsg")) < 3 * 60

    serving(main)


@pytest.mark.parametrize("stream", [False, True])
def test_a_client_that_leaves_at_once_frees_all_choices(serving, stream):
    async def main(it):
        exchange = it.ask(n=3, stream=stream, max_tokens=100, reader=Reader(leaves_at_us=0))
        await exchange.wait_app()
        await asyncio.sleep(0.1)
        assert it.sent("DetokenizeMsg") == [] or len(it.sent("AbortMsg")) == 3

    serving(main)


def test_a_choice_that_has_ended_is_not_aborted(serving):
    async def main(it):
        exchange = it.ask(n=2, stream=True, max_tokens=100, reader=Reader(leaves_at_us=200_000))
        await exchange.wait()
        await asyncio.sleep(0.1)
        assert [msg["uid"] for msg in it.sent("AbortMsg")] == [1]

    serving(main, {0: [*b"ab", EOS]})


@pytest.mark.parametrize("stream", [False, True])
def test_a_choice_that_fails_takes_the_others_with_it(serving, stream, events):
    async def main(it):
        exchange = it.ask(n=2, stream=stream, max_tokens=100)
        await exchange.wait()
        if stream:
            *chunks, last = events(exchange)
            assert chunks and last["error"]["code"] == "detokenize_error"
        else:
            assert exchange.status == 500
        await asyncio.sleep(0.1)
        assert [msg["uid"] for msg in it.sent("AbortMsg")] == [0]

    serving(main, {1: [*b"abc", -1]})


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_that_fails_before_anything_is_sent_has_its_status(serving, stream):
    async def main(it):
        exchange = await it.answer("completions", prompt=["x" * 128, "go"], max_tokens=3, stream=stream)
        assert exchange.status == 400
        assert json.loads(exchange.body)["error"]["code"] == "context_length_exceeded"

    serving(main)


def test_a_list_of_prompts_is_answered_side_by_side(serving):
    async def main(it):
        exchange = await it.answer("completions", prompt=["one", "three"], n=2, max_tokens=2)
        body = json.loads(exchange.body)
        assert [(choice["index"], choice["text"]) for choice in body["choices"]] == [
            (0, "aa"),
            (1, "bb"),
            (2, "cc"),
            (3, "dd"),
        ]
        assert body["usage"]["prompt_tokens"] == 3 + 5  # each prompt once
        assert body["usage"]["completion_tokens"] == 8
        assert [msg["text"] for msg in it.sent("TokenizeMsg")] == ["one", "one", "three", "three"]

    serving(main, {uid: [97 + uid] * 2 for uid in range(4)})


def test_too_many_choices_are_refused_and_none_is_submitted(serving):
    async def main(it):
        exchange = await it.answer("completions", prompt=["x"] * 65, n=2)
        assert exchange.status == 400 and "128 choices" in json.loads(exchange.body)["error"]["message"]
        assert it.sent("TokenizeMsg") == []

    serving(main)


def test_if_one_choice_cannot_be_submitted_none_stays(serving):
    async def main(it):
        link = it.stage.frontend.send_tokenizers[0]
        put = link.put

        async def breaks_at_the_second(msg):
            if getattr(msg, "uid", 0) == 1 and hasattr(msg, "text"):
                raise OSError("the link is broken")
            await put(msg)

        link.put = breaks_at_the_second
        exchange = it.ask(n=3)
        await exchange.wait()
        assert exchange.status == 500
        await asyncio.sleep(0.1)
        assert [msg["uid"] for msg in it.sent("AbortMsg")] == [0]

    serving(main)
