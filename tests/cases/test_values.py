"""Reported faults: sampling values, stop strings, choices and neighbours (D and E of ``docs/cases.md``)."""

from __future__ import annotations

import asyncio
import json

import pytest

from minisgl_tutor.engine.base import EngineInfo
from minisgl_tutor.server.config import SchedulerConfig
from minisgl_tutor.trace.asgi import Reader

EOS = 256
CONFIGS = [
    SchedulerConfig(cache=cache, prefill_budget=budget, seed=0)
    for cache in ("radix", "naive")
    for budget in (4, 4096)
]
both_ways = pytest.mark.parametrize("stream", [False, True])


def body(exchange):
    return json.loads(exchange.body)


def told(exchange):
    return body(exchange)["error"]


def text(exchange):
    return body(exchange)["choices"][0]["message"]["content"]


@pytest.mark.parametrize("top_k", [-2, 1.5, "x", -(10**30)])
def test_case_d9_a_wrong_top_k_is_refused(serving, top_k):
    async def main(it):
        exchange = await it.answer(max_tokens=1, top_k=top_k, temperature=1.0)
        assert (exchange.status, told(exchange)["param"]) == (400, "top_k")

    serving(main)


@both_ways
@pytest.mark.parametrize("stop", ["", [""], ["", "X"], ["X", ""]])
def test_case_d10_an_empty_stop_string_is_refused(serving, stop, stream):
    async def main(it):
        exchange = await it.answer(stop=stop, max_tokens=8, stream=stream)
        assert (exchange.status, told(exchange)["param"]) == (400, "stop")
        assert "empty" in told(exchange)["message"]

    serving(main)


@pytest.mark.parametrize("stop", [[1], 1, {"a": "b"}, [["X"]], [None], True])
def test_case_d10_what_is_no_text_is_no_stop_string(serving, stop):
    async def main(it):
        exchange = await it.answer(stop=stop, max_tokens=8)
        assert (exchange.status, told(exchange)["param"]) == (400, "stop")

    serving(main)


@pytest.mark.parametrize(("count", "status"), [(4, 200), (5, 200), (16, 200), (17, 400)])
def test_case_d10_up_to_sixteen_stop_strings(serving, count, status):
    """A choice: OpenAI takes four, other servers any number; here sixteen."""

    async def main(it):
        exchange = await it.answer(stop=[f"stop {i}" for i in range(count)], max_tokens=4)
        assert exchange.status == status

    serving(main)


@both_ways
@pytest.mark.parametrize("n", [0, -1, 129, 100_000, 10**30, 1.5, "x"])
def test_case_d11_a_wrong_number_of_choices_is_refused(serving, n, stream):
    async def main(it):
        exchange = await it.answer(n=n, stream=stream)
        assert (exchange.status, told(exchange)["param"]) == (400, "n")
        assert it.sent("TokenizeMsg") == []

    serving(main)


@pytest.mark.parametrize(
    ("seed", "status"), [(2**63 - 1, 200), (2**63, 400), (-(2**63), 200), (-(2**63) - 1, 400)]
)
@pytest.mark.parametrize("n", [1, 2])
def test_case_d11_seeds_of_64_bits(serving, seed, status, n):
    async def main(it):
        exchange = await it.answer(n=n, seed=seed, temperature=1.0, max_tokens=2)
        assert exchange.status == status
        if status == 200:
            assert [choice["index"] for choice in body(exchange)["choices"]] == list(range(n))
        assert (await it.answer(max_tokens=2)).status == 200

    serving(main)


def test_case_d11_a_stream_delivers_what_the_second_says_after_the_first_has_ended(serving, events):
    async def main(it):
        exchange = await it.answer(n=2, stream=True, max_tokens=8)
        said = {0: "", 1: ""}
        for chunk in events(exchange)[:-1]:
            (choice,) = chunk["choices"]
            said[choice["index"]] += choice["delta"].get("content", "")
        assert said == {0: "a", 1: "longer!!"}

    serving(main, {0: [*b"a", EOS], 1: list(b"longer!!")})


def test_case_d11_who_leaves_early_frees_all_choices(serving):
    async def main(it):
        gone = it.ask(n=4, stream=True, max_tokens=100, reader=Reader(leaves_before_chunk=3))
        await gone.wait_app()
        await asyncio.sleep(0.5)
        assert sorted(msg["uid"] for msg in it.sent("AbortMsg")) == [0, 1, 2, 3]
        assert it.stage.scheduler.held() == {}

    serving(main)


# -- E9


def test_case_e9_a_request_id_is_no_field(serving):
    async def main(it):
        exchange = await it.answer(request_id="x")
        assert (exchange.status, told(exchange)["param"]) == (400, "request_id")

    serving(main)


@both_ways
def test_case_e9_the_same_id_twice_at_once_does_not_mix_answers(serving, events, stream):
    """A client's id is for the log; inside, each request has a number of its own."""

    async def main(it):
        headers = {"content-type": "application/json", "x-request-id": "x"}
        sent = json.dumps({"model": "toy", "prompt": "go", "max_tokens": 30, "stream": stream}).encode()

        def ask():
            return it.asgi.request("POST", "/v1/completions", headers=headers, body=sent)

        first = ask()
        await asyncio.sleep(0.1)
        second = ask()
        await first.wait()
        await second.wait()
        third = ask()
        await third.wait()
        ids = set()
        for exchange, letter in zip((first, second, third), "abc", strict=True):
            if stream:
                *chunks, done = events(exchange)
                said = "".join(chunk["choices"][0]["text"] for chunk in chunks)
                ids |= {chunk["id"] for chunk in chunks}
                assert done == "[DONE]"
            else:
                said = body(exchange)["choices"][0]["text"]
                ids.add(body(exchange)["id"])
            assert said == letter * 30
        assert len(ids) == 3

    serving(main, {uid: [97 + uid] * 30 for uid in range(3)})


def test_case_e9_two_equal_prompts_in_one_list(serving):
    async def main(it):
        exchange = await it.answer("completions", prompt=["go", "go"], max_tokens=3)
        assert [choice["text"] for choice in body(exchange)["choices"]] == ["aaa", "bbb"]

    serving(main, {0: b"aaa", 1: b"bbb"})


def test_case_d9_requests_of_different_sampling_in_one_batch(serving, hashing):
    """The control plane's part: each row has its own values, and a greedy one has its solo text."""

    async def main(it):
        alone = text(await it.answer(max_tokens=20, ignore_eos=True))
        others = [{"top_k": 5}, {"top_k": 50, "top_p": 0.5}, {"top_k": 9999999, "top_p": 0.9}, {"min_p": 0.2}]
        pending = [it.ask(max_tokens=20, ignore_eos=True, temperature=1.0, **other) for other in others]
        assert text(await it.answer(max_tokens=20, ignore_eos=True)) == alone
        for exchange in pending:
            await exchange.wait()
            assert exchange.status == 200

    serving(main, engine=hashing(EngineInfo(4, 128, 8, 128, 257)))


def test_case_e10_a_greedy_answer_among_others(serving, hashing):
    """Alone, among others of other lengths, and among such as come, end and leave meanwhile."""

    async def main(it):
        asks = {"max_tokens": 40, "ignore_eos": True}
        alone = text(await it.answer(**asks))
        others = [it.ask("completions", prompt="y" * (3 * i + 1), max_tokens=9 + i) for i in range(7)]
        assert text(await it.answer(**asks)) == alone
        for i in range(7):
            reader = Reader(leaves_before_chunk=3) if i % 2 else Reader()
            it.ask(
                "completions",
                prompt="z" * (5 * i + 1),
                stream=True,
                max_tokens=12,
                temperature=1.0,
                reader=reader,
            )
        pending = it.ask(**asks)
        await asyncio.sleep(0.1)
        it.ask(max_tokens=3, temperature=1.0, seed=1)
        await pending.wait()
        assert text(pending) == alone
        for exchange in others:
            await exchange.wait()

    for config in CONFIGS:
        serving(main, engine=hashing(EngineInfo(4, 256, 16, 128, 257)), scheduler=config)
