"""What chapter 5 states of HTTP, of the request model and of both ways of answering."""

from __future__ import annotations

import asyncio
import json

import pytest

from minisgl_tutor.engine.base import EngineInfo
from minisgl_tutor.engine.hashing import HashingEngine
from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import Message, OpenAICompletionRequest

EOS = 256
HI = [*b"Hi", EOS]
STEP_S = 0.01


class OneSlot(HashingEngine):
    """Takes no time, and has room for one request."""

    read_until_us = 0

    def next_event_us(self) -> None:
        return None


def test_fields_and_defaults_of_the_request_model():
    """C5.20, C5.22, C5.23, C5.26."""
    fields = OpenAICompletionRequest.model_fields
    assert fields["model"].is_required()
    assert (fields["max_tokens"].annotation, fields["stream"].annotation) == (int, bool)
    assert "str" in str(fields["prompt"].annotation)
    assert fields["messages"].annotation == list[Message] | None
    known = {"prompt": None, "messages": None, "max_tokens": 16, "stream": False, "n": 1, "stop": []}
    sampling = {"temperature": 0.0, "top_k": -1, "top_p": 1.0, "ignore_eos": False}
    for name, default in {**known, **sampling}.items():
        assert fields[name].default == default, name


def test_a_request_without_a_model_is_refused(serving):
    """C5.21."""

    async def main(it):
        exchange = it.asgi.request(
            "POST",
            "/v1/chat/completions",
            headers={"content-type": "application/json"},
            body=b'{"messages": [{"role": "user", "content": "go"}]}',
        )
        await exchange.wait()
        assert exchange.status == 400 and "model" in json.loads(exchange.body)["error"]["message"]
        assert it.sent("TokenizeMsg") == [] and it.stage.frontend.uid_counter == 0

    serving(main)


def test_an_answer_is_whole_unless_a_stream_is_asked_for(serving, events):
    """C5.25, C5.99, C5.112, K5.24, K5.39."""

    async def main(it):
        whole = await it.answer()
        assert whole.headers["content-type"] == "application/json"
        (choice,) = json.loads(whole.body)["choices"]
        assert choice["message"] == {"role": "assistant", "content": "Hi"}
        assert choice["finish_reason"] == "stop"
        streamed = await it.answer(stream=True)
        assert streamed.headers["content-type"].startswith("text/event-stream")
        assert len(events(streamed)) == 5

    serving(main, {0: HI, 1: HI})


def test_a_number_as_text_is_taken_for_the_number(serving):
    """C5.30."""

    async def main(it):
        assert (await it.answer(max_tokens="7")).status == 200
        assert it.params == [SamplingParams(max_tokens=7)]

    serving(main)


def test_the_chat_path_takes_a_post_and_nothing_else(serving):
    """C5.32, K5.10."""

    async def main(it):
        assert (await it.answer(max_tokens=1)).status == 200
        for method in ("GET", "PUT"):
            exchange = it.asgi.request(method, "/v1/chat/completions")
            await exchange.wait()
            assert exchange.status == 405

    serving(main)


@pytest.mark.parametrize("body", [{"messages": None}, {"messages": []}], ids=str)
def test_a_request_without_input_is_refused_and_leaves_nothing(serving, body):
    """C5.35, C5.36: a sentence, and no uid is spent."""

    async def main(it):
        exchange = await it.answer(**body)
        assert exchange.status == 400
        assert "either 'messages' or 'prompt'" in json.loads(exchange.body)["error"]["message"]
        assert it.stage.frontend.uid_counter == 0 and it.stage.frontend.held() == {}

    serving(main)


def test_whether_it_streams_is_in_no_message(serving):
    """K5.19, C5.109."""

    async def main(it):
        await it.answer(max_tokens=3, stream=False)
        await it.answer(max_tokens=3, stream=True)
        whole, streamed = [{**msg, "uid": None} for msg in it.sent("TokenizeMsg")]
        assert whole == streamed and "stream" not in str(whole)

    serving(main)


def test_a_second_call_has_nothing_of_the_first(serving):
    """K5.21."""

    async def main(it):
        for content in ("my name is Ada", "what is my name?"):
            await it.answer(max_tokens=1, messages=[{"role": "user", "content": content}])
        assert it.sent("TokenizeMsg")[1]["text"] == [{"role": "user", "content": "what is my name?"}]

    serving(main)


def test_streaming_computes_as_much_and_shows_the_first_text_sooner(serving, events):
    """C5.108, C5.109, K5.31 to K5.33: as many steps and the same end; the first text comes before it."""

    async def main(it):
        seen = []
        for stream in (False, True):
            begin_us, before = it.stage.loop.now_us(), len(it.stage.tracer.steps)
            exchange = await it.answer(max_tokens=20, stream=stream)
            chunks = [
                event.at_us - begin_us for event in exchange.events if event.kind == "chunk" and event.data
            ]
            steps = sum(step.kind == "call" for step in it.stage.tracer.steps[before:])
            seen.append((steps, chunks[0], chunks[-1], exchange))
        (steps, first, end, whole), (streamed_steps, streamed_first, streamed_end, streamed) = seen
        assert steps == streamed_steps and abs(end - streamed_end) < STEP_S * 1e6
        assert first == end and streamed_first < end / 5
        text = json.loads(whole.body)["choices"][0]["message"]["content"]
        pieces = [chunk["choices"][0]["delta"].get("content", "") for chunk in events(streamed)[:-1]]
        assert "".join(pieces) == text == "a" * 20

    serving(main, {0: b"a" * 20, 1: b"a" * 20})


def test_a_whole_answer_under_way_holds_up_nobody(serving):
    """C5.113, K5.40."""

    async def main(it):
        long = it.ask(max_tokens=60)
        await asyncio.sleep(STEP_S)
        assert (await it.answer(max_tokens=2)).status == 200
        assert not long.over
        await long.wait()
        assert long.status == 200

    serving(main, {0: b"a" * 60, 1: b"bb"})


def test_more_requests_than_run_at_once_are_all_answered(serving):
    """C5.176, K5.64, K5.66: ten are held, and one at a time is computed."""

    async def main(it):
        asked = [it.ask(max_tokens=2) for _ in range(10)]
        await asyncio.sleep(0.000_01)
        assert len(it.stage.frontend.held()) == 10
        for exchange in asked:
            await exchange.wait()
        calls = [step.uids for step in it.stage.tracer.steps if step.kind == "call"]
        assert [exchange.status for exchange in asked] == [200] * 10
        assert len(calls) == 20 and max(map(len, calls)) == 1

    serving(main, engine=OneSlot(EngineInfo(4, 64, 1, 128, 257)))
