"""The gap ``reference-wire``: what the chapters say of the reference's manners on the wire."""

from __future__ import annotations

import asyncio
import json

import pytest

from minisgl_tutor.gaps import REFERENCE, UnknownGap, resolve
from minisgl_tutor.message import SamplingParams, UserReply

EOS = 256
GAP = ("reference-wire",)
HI = [*b"Hi", EOS]


def test_c5_88_to_c5_97_the_events_of_a_stream(serving, events):
    """Ids of the uid, the reference's object, one chunk a reply, a last one that says stop, the mark."""

    async def main(it):
        await it.answer(max_tokens=1)
        *chunks, end, done = events(await it.answer(stream=True, max_tokens=9))
        assert done == "[DONE]"
        assert [set(chunk) for chunk in (*chunks, end)] == [{"id", "object", "choices"}] * 4
        assert {(chunk["id"], chunk["object"]) for chunk in (*chunks, end)} == {
            ("cmpl-1", "text_completion.chunk")
        }
        assert [chunk["choices"] for chunk in (*chunks, end)] == [
            [{"delta": {"role": "assistant", "content": "H"}, "index": 0, "finish_reason": None}],
            [{"delta": {"content": "i"}, "index": 0, "finish_reason": None}],
            [{"delta": {}, "index": 0, "finish_reason": None}],
            [{"delta": {}, "index": 0, "finish_reason": "stop"}],
        ]

    serving(main, {1: HI}, gaps=GAP)


def test_c5_95_every_reply_is_a_chunk_even_to_a_client_that_is_behind(serving, events):
    async def main(it):
        front = it.stage.frontend
        uid = front.new_user()
        pieces = ["a", "", "b", "c"]
        replies = front.wait_for_ack(uid)
        for piece in pieces[:2]:
            front.file_reply(UserReply(uid, piece, False))
        seen = [(await anext(replies)).incremental_output]
        for piece in pieces[2:]:
            front.file_reply(UserReply(uid, piece, piece == "c"))
        seen += [reply.incremental_output async for reply in replies]
        assert seen == pieces
        front.forget(uid)

    serving(main, gaps=GAP)


def test_c2_39_headers_go_out_before_any_reply(serving):
    async def main(it):
        exchange = it.ask(stream=True, max_tokens=2)
        await asyncio.sleep(0)
        while exchange.status is None:
            await asyncio.sleep(0.000_01)
        assert exchange.status == 200 and exchange.body == b"" and it.sent("UserReply") == []
        await exchange.wait()

    serving(main, gaps=GAP)


def test_without_the_gap_headers_wait_for_the_first_reply(serving):
    async def main(it):
        exchange = it.ask(stream=True, max_tokens=2)
        while not it.sent("DetokenizeMsg"):
            assert exchange.status is None
            await asyncio.sleep(0.001)
        await exchange.wait()
        assert exchange.status == 200

    serving(main)


def test_c5_43_c5_46_counts_and_reasons_are_placeholders(serving):
    """A length stop and an end-of-sequence are told alike, and so are a short answer and a long one."""

    async def main(it):
        bodies = [json.loads((await it.answer(max_tokens=limit)).body) for limit in (9, 60)]
        assert [body["choices"][0]["message"]["content"] for body in bodies] == ["Hi", "a" * 60]
        assert {body["choices"][0]["finish_reason"] for body in bodies} == {"stop"}
        assert bodies[0]["usage"] == bodies[1]["usage"]
        assert [body["id"] for body in bodies] == ["cmpl-0", "cmpl-1"]

    serving(main, {0: HI, 1: b"a" * 60}, gaps=GAP)


def test_c5_11_c5_24_c5_45_what_is_asked_for_is_accepted_and_ignored(serving):
    async def main(it):
        exchange = await it.answer(
            n=3, stop=["b"], logprobs=True, min_p=0.5, tools=[{}], made_up=1, seed=3, temperature=0.5
        )
        (choice,) = json.loads(exchange.body)["choices"]
        assert choice["message"]["content"] == "abc" + "d" * 13  # 16 tokens, unless the request says else
        assert it.params == [SamplingParams(temperature=0.5, max_tokens=16)]

    serving(main, {0: b"abc" + b"d" * 20}, gaps=GAP)


def test_c5_35_without_input_an_assertion_fails(serving):
    async def main(it):
        exchange = it.ask(messages=[])
        await exchange.wait()
        assert exchange.status == 500 and it.sent("TokenizeMsg") == []
        assert it.stage.frontend.uid_counter == 0
        assert "must be provided" in exchange.app_traceback

    serving(main, gaps=GAP)


def test_a_refusal_comes_in_a_stream_that_has_begun(serving, events):
    async def main(it):
        exchange = await it.answer(stream=True, messages=[{"role": "user", "content": "x" * 200}])
        assert exchange.status == 200
        (error,) = events(exchange)
        assert error["error"]["code"] == "context_length_exceeded"

    serving(main, gaps=GAP)


def test_it_goes_with_the_cleanup_gaps_but_is_asked_for_by_name(serving, events):
    assert "reference-wire" not in resolve(["reference"])
    assert resolve(["reference", "reference-wire"]) == (*REFERENCE, "reference-wire")
    with pytest.raises(UnknownGap, match="reference-wire"):
        resolve(["wire"])
