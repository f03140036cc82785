"""Each field of a request, by what comes of it. docs/openai-fields.md names these tests."""

from __future__ import annotations

import json

import pytest

EOS = 256
TEXT = {"prompt": "go"}


def told(exchange):
    return json.loads(exchange.body)["error"]


def content(exchange):
    return json.loads(exchange.body)["choices"][0]["message"]["content"]


# -- how long, how drawn


def test_max_tokens(serving):
    """Case D3: an upper bound, which may be beyond what fits; without one a chat goes on to its own end."""

    async def main(it):
        for asked, limit in [
            ({"max_tokens": 5}, 5),
            ({"max_tokens": "7"}, 7),
            ({"max_tokens": True}, 1),
            ({"max_tokens": 10**12}, 2**31 - 1),
            ({"max_tokens": None}, 2**31 - 1),
            ({}, 2**31 - 1),
        ]:
            exchange = await it.answer(**asked)
            assert exchange.status == 200 and it.params[-1].max_tokens == limit
        for asked in (0, -1, -5, 1.5, "x"):
            exchange = await it.answer(max_tokens=asked)
            assert (exchange.status, told(exchange)["param"]) == (400, "max_tokens")
        await it.answer("completions", **TEXT)
        assert it.params[-1].max_tokens == 16  # OpenAI's default of this interface (C5.24)

    serving(main, {uid: [97, EOS] for uid in range(9)})


def test_an_answer_without_a_limit_ends_where_the_context_does(serving):
    async def main(it):
        exchange = await it.answer()
        body = json.loads(exchange.body)
        assert body["choices"][0]["finish_reason"] == "length"
        assert body["usage"]["total_tokens"] == 128

    serving(main)


def test_max_completion_tokens(serving):
    async def main(it):
        await it.answer(max_completion_tokens=3)
        await it.answer(max_completion_tokens=2, max_tokens=9)
        assert [params.max_tokens for params in it.params] == [3, 2]

    serving(main)


def test_the_sampling_values_reach_the_scheduler(serving):
    asked = {
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 3,
        "min_p": 0.1,
        "presence_penalty": 1.5,
        "frequency_penalty": -0.5,
        "seed": -5,
        "ignore_eos": True,
    }

    async def main(it):
        for path, body in (("chat/completions", {}), ("completions", TEXT)):
            await it.answer(path, max_tokens=2, logit_bias={"97": 5, "98": -100}, **asked, **body)
            params = it.params[-1]
            assert {name: getattr(params, name) for name in asked} == asked
            assert params.logit_bias == {97: 5, 98: -100}

    serving(main)


def test_temperature_is_0_unless_given(serving):
    async def main(it):
        await it.answer(max_tokens=1)
        await it.answer(max_tokens=1, temperature=None)
        assert [params.temperature for params in it.params] == [0, 0]

    serving(main)


def test_case_d9_top_k_of_0_and_minus_1_is_off(serving):
    async def main(it):
        for top_k in (0, -1, None, 1, 9999999):
            assert (await it.answer(max_tokens=1, top_k=top_k)).status == 200
        assert [params.top_k for params in it.params] == [-1, -1, -1, 1, 9999999]

    serving(main)


def test_ignore_eos(serving):
    """Case B7: what ends the answer otherwise is not shown either."""

    async def main(it):
        assert content(await it.answer(max_tokens=4)) == "Hi"
        assert content(await it.answer(max_tokens=4, ignore_eos=True)) == "Hi!"

    serving(main, {0: [*b"Hi", EOS], 1: [*b"Hi", EOS, *b"!"]})


# -- where it ends


@pytest.mark.parametrize("path", ["chat/completions", "completions"])
def test_stop(serving, events, path):
    """Case B5: a stream shows what the whole answer is; generation ends, and usage counts up to there."""

    async def main(it):
        asked = {"stop": ["DEFGHIJ", "never"], "max_tokens": 40, **(TEXT if path == "completions" else {})}
        body = json.loads((await it.answer(path, **asked)).body)
        choice = body["choices"][0]
        assert choice.get("text", choice.get("message", {}).get("content")) == "ABC"
        assert (choice["finish_reason"], body["usage"]["completion_tokens"]) == ("stop", 10)
        *chunks, end, usage, done = events(
            await it.answer(path, stream=True, stream_options={"include_usage": True}, **asked)
        )
        pieces = [chunk["choices"][0] for chunk in chunks]
        assert (
            "".join(each.get("text") or each.get("delta", {}).get("content", "") for each in pieces) == "ABC"
        )
        assert end["choices"][0]["finish_reason"] == "stop" and done == "[DONE]"
        assert usage["usage"]["completion_tokens"] == 10
        assert len(it.sent("DetokenizeMsg")) < 2 * 16
        assert [msg["uid"] for msg in it.sent("AbortBackendMsg")] == [0, 1] and it.sent("AbortMsg") == []

    serving(main, {0: b"ABCDEFGHIJKLMN", 1: b"ABCDEFGHIJKLMN"})


@pytest.mark.parametrize("stop", [None, [], "X", "é", ["!", "é"]])
def test_case_d10_forms_of_stop(serving, stop):
    async def main(it):
        exchange = await it.answer(stop=stop, max_tokens=6)
        assert content(exchange) == ("caf" if stop and "é" in stop else "café!")

    serving(main, {0: list("café!".encode())})


# -- logprobs


def test_logprobs_of_a_chat(serving, events):
    async def main(it):
        whole = json.loads((await it.answer(logprobs=True, top_logprobs=2, max_tokens=4)).body)
        entries = whole["choices"][0]["logprobs"]["content"]
        assert [(entry["token"], entry["bytes"], entry["logprob"]) for entry in entries] == [
            ("a", [97], -0.5),
            ("\ufffd", [0xC3], -0.5),
            ("\ufffd", [0xA9], -0.5),
            ("b", [98], -0.5),
        ]
        assert entries[0]["top_logprobs"] == [
            {"token": "a", "bytes": [97], "logprob": -1},
            {"token": "b", "bytes": [98], "logprob": -2},
        ]
        chunks = events(await it.answer(logprobs=True, top_logprobs=2, max_tokens=4, stream=True))[:-1]
        shown = [chunk["choices"][0]["logprobs"] for chunk in chunks]
        assert [entry for each in shown if each for entry in each["content"]] == entries

    serving(main, {0: "aéb".encode(), 1: "aéb".encode()})


def test_logprobs_of_a_text_completion(serving, events):
    async def main(it):
        asked = {"prompt": "go", "logprobs": 2, "max_tokens": 4}
        whole = json.loads((await it.answer("completions", **asked)).body)
        expected = {
            "tokens": ["a", "bytes:\\xc3", "bytes:\\xa9", "c"],
            "token_logprobs": [-0.5] * 4,
            "top_logprobs": [
                {"a": -1, "b": -2},
                {"bytes:\\xc3": -0.5, "a": -1, "b": -2},
                {"bytes:\\xa9": -0.5, "a": -1, "b": -2},
                {"c": -0.5, "a": -1, "b": -2},
            ],
            "text_offset": [0, 1, 1, 2],
        }
        assert whole["choices"][0]["logprobs"] == expected
        joined = {name: [] for name in expected}
        for chunk in events(await it.answer("completions", stream=True, **asked))[:-1]:
            for name, values in (chunk["choices"][0]["logprobs"] or {}).items():
                joined[name] += values
        assert joined == expected

    serving(main, {0: "aéc".encode(), 1: "aéc".encode()})


def test_offsets_behind_bytes_that_became_no_character(serving):
    async def main(it):
        whole = json.loads((await it.answer("completions", logprobs=0, max_tokens=4, **TEXT)).body)
        (choice,) = whole["choices"]
        assert choice["text"] == "a\ufffdb"
        assert choice["logprobs"]["text_offset"] == [0, 1, 1, 2]

    serving(main, {0: [97, 0xE7, 0xBB, 98]})


def test_no_logprobs_unless_asked_for(serving):
    async def main(it):
        await it.answer(max_tokens=1, logprobs=False)
        await it.answer(max_tokens=1, logprobs=True)
        await it.answer("completions", max_tokens=1, logprobs=0, **TEXT)
        assert [params.logprobs for params in it.params] == [None, 0, 0]

    serving(main)


# -- how it is returned


def test_stream(serving):
    """Case C2."""

    async def main(it):
        for stream in (None, False):
            assert (await it.answer(stream=stream, max_tokens=1)).headers[
                "content-type"
            ] == "application/json"
        exchange = await it.answer(stream=True, max_tokens=1)
        assert exchange.headers["content-type"].startswith("text/event-stream")
        assert exchange.body.endswith(b"data: [DONE]\n\n")

    serving(main)


def test_stream_options(serving, events):
    """Case C3: token counts come if asked for, and with a stream alone."""

    async def main(it):
        for options in ({}, {"stream_options": None}, {"stream_options": {"include_usage": False}}):
            chunks = events(await it.answer(stream=True, max_tokens=2, **options))[:-1]
            assert all(len(chunk["choices"]) == 1 and "usage" not in chunk for chunk in chunks)
        refused = await it.answer(stream=False, stream_options={"include_usage": True})
        assert (refused.status, told(refused)["param"]) == (400, "stream_options")
        other = await it.answer(stream=True, stream_options={"include_obfuscation": True})
        assert other.status == 400 and "include_obfuscation" in told(other)["message"]

    serving(main)


def test_case_c6_an_answer_without_a_token_has_role_end_and_mark(serving, events):
    async def main(it):
        role, end, done = events(await it.answer(stream=True))
        assert role["choices"][0]["delta"] == {"role": "assistant"}
        assert end["choices"][0]["finish_reason"] == "stop" and done == "[DONE]"

    serving(main, {0: [EOS]})


# -- what is asked


def test_any_model_name_is_answered_by_the_one_that_is_served(serving):
    """C5.44."""

    async def main(it):
        for name in ("toy", "gpt-4o", ""):
            assert json.loads((await it.answer(model=name, max_tokens=1)).body)["model"] == "toy"
        missing = await it.answer(model=None)
        assert (missing.status, told(missing)["code"]) == (400, "missing_required_parameter")

    serving(main)


def test_roles_and_parts(serving):
    """Case D6: parts are one text, whatever their number."""

    async def main(it):
        parts = [{"type": "text", "text": "AAAA"}, {"type": "text", "text": "BBBB"}]
        roles = ["developer", "system", "user", "assistant", "tool"]
        await it.answer(max_tokens=1, messages=[{"role": role, "content": parts} for role in roles])
        seen = it.sent("TokenizeMsg")[0]["text"]
        assert [msg["role"] for msg in seen] == ["system", "system", "user", "assistant", "tool"]
        assert {msg["content"] for msg in seen} == {"AAAABBBB"}

    serving(main)


def test_an_assistant_that_said_nothing(serving):
    async def main(it):
        history = [{"role": "assistant", "content": None, "refusal": None, "annotations": []}]
        exchange = await it.answer(max_tokens=1, messages=[*history, {"role": "user", "content": "x"}])
        assert exchange.status == 200
        assert it.sent("TokenizeMsg")[0]["text"][0] == {"role": "assistant", "content": ""}

    serving(main)


def test_what_templates_may_know_goes_to_them(serving):
    async def main(it):
        calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
        messages = [
            {"role": "user", "content": "x", "name": "Ann"},
            {"role": "assistant", "tool_calls": calls},
            {"role": "tool", "content": "y", "tool_call_id": "1"},
        ]
        assert (await it.answer(max_tokens=1, messages=messages)).status == 200
        seen = it.sent("TokenizeMsg")[0]["text"]
        assert seen == [messages[0], {**messages[1], "content": ""}, messages[2]]

    serving(main)


def test_a_prompt_may_stand_for_messages(serving):
    """C5.34."""

    async def main(it):
        await it.answer(prompt="raw", messages=[], max_tokens=1)
        await it.answer(prompt="raw", max_tokens=1)
        texts = [msg["text"] for msg in it.sent("TokenizeMsg")]
        assert texts == ["raw", [{"role": "user", "content": "go"}]]

    serving(main)


def test_token_ids_as_a_prompt_are_refused(serving):
    async def main(it):
        for prompt in ([1, 2], [[1], [2]], [], [""]):
            exchange = await it.answer("completions", prompt=prompt)
            assert exchange.status == 400 and told(exchange)["param"] == "prompt"

    serving(main)
