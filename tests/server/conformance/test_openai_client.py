"""What the openai client sees: both interfaces, streaming and not, and its own exceptions."""

from __future__ import annotations

import asyncio
from typing import Any

import openai
import pytest

EOS = 256
GO: Any = [{"role": "user", "content": "go"}]
HELLO = [*b"Hello", EOS]


def test_a_chat_and_its_stream_say_the_same(serving):
    async def main(it):
        whole = await it.openai.chat.completions.create(model="x", messages=GO)
        (choice,) = whole.choices
        assert (choice.message.role, choice.message.content, choice.finish_reason) == (
            "assistant",
            "Hello",
            "stop",
        )
        assert (whole.object, whole.model, choice.index) == ("chat.completion", "toy", 0)
        assert whole.id.startswith("chatcmpl-") and whole.created > 0
        assert (whole.usage.prompt_tokens, whole.usage.completion_tokens, whole.usage.total_tokens) == (
            8,
            6,
            14,
        )
        assert whole.usage.prompt_tokens_details.cached_tokens == 0

        stream = await it.openai.chat.completions.create(
            model="x", messages=GO, stream=True, stream_options={"include_usage": True}
        )
        *chunks, end, usage = [chunk async for chunk in stream]
        assert [chunk.choices[0].delta.role for chunk in chunks] == ["assistant", *[None] * (len(chunks) - 1)]
        assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "Hello"
        assert {chunk.choices[0].finish_reason for chunk in chunks} == {None}
        assert (end.choices[0].delta.content, end.choices[0].finish_reason) == (None, "stop")
        assert usage.choices == [] and usage.usage.completion_tokens == 6
        assert usage.usage.prompt_tokens_details.cached_tokens == 4
        assert {chunk.usage for chunk in (*chunks, end)} == {None}
        heads = {(chunk.id, chunk.object, chunk.created, chunk.model) for chunk in (*chunks, end, usage)}
        assert len(heads) == 1
        assert heads.pop()[1] == "chat.completion.chunk"

    serving(main, {0: HELLO, 1: HELLO})


def test_a_text_completion_and_its_stream_say_the_same(serving):
    async def main(it):
        whole = await it.openai.completions.create(model="x", prompt="go", max_tokens=3)
        assert (whole.object, whole.id[:5]) == ("text_completion", "cmpl-")
        assert (whole.choices[0].text, whole.choices[0].finish_reason) == ("Hel", "length")
        stream = await it.openai.completions.create(model="x", prompt="go", max_tokens=3, stream=True)
        chunks = [chunk async for chunk in stream]
        assert "".join(chunk.choices[0].text for chunk in chunks) == "Hel"
        assert [chunk.choices[0].finish_reason for chunk in chunks][-2:] == [None, "length"]

    serving(main, {0: HELLO, 1: HELLO})


def test_the_helpers_for_streams_and_raw_responses(serving):
    async def main(it):
        async with it.openai.chat.completions.stream(model="x", messages=GO) as stream:
            kinds = [event.type async for event in stream]
            final = await stream.get_final_completion()
        assert "content.delta" in kinds and kinds[-1] == "content.done"
        assert final.choices[0].message.content == "Hello"
        raw = await it.openai.chat.completions.with_raw_response.create(model="x", messages=GO)
        assert raw.headers["content-type"] == "application/json"
        assert raw.parse().choices[0].message.content == "Hello"

    serving(main, {0: HELLO, 1: HELLO})


def test_the_models(serving):
    async def main(it):
        (model,) = [model async for model in it.openai.models.list()]
        assert (model.id, model.root) == ("toy", "toy")
        assert (await it.openai.models.retrieve("toy")).id == "toy"
        with pytest.raises(openai.NotFoundError, match="'toy'") as raised:
            await it.openai.models.retrieve("org/other")
        assert (raised.value.code, raised.value.param) == ("model_not_found", "model")

    serving(main)


@pytest.mark.parametrize("stream", [False, True])
def test_errors_are_its_own_exceptions(serving, stream):
    """Case C4: with a stream, too, the status tells, before any event."""

    async def main(it):
        create = it.openai.chat.completions.create
        with pytest.raises(openai.BadRequestError, match="'max_tokens'") as raised:
            await create(model="x", messages=GO, max_tokens=0, stream=stream)
        assert (raised.value.code, raised.value.param, raised.value.type) == (
            "invalid_value",
            "max_tokens",
            "invalid_request_error",
        )
        with pytest.raises(openai.BadRequestError) as raised:
            await create(model="x", messages=[], stream=stream)
        assert raised.value.code == "missing_required_parameter"
        long: Any = [{"role": "user", "content": "x" * 128}]
        with pytest.raises(openai.BadRequestError, match="context length") as raised:
            await create(model="x", messages=long, stream=stream)
        assert raised.value.code == "context_length_exceeded"
        with pytest.raises(openai.NotFoundError) as raised:
            await it.openai.post("/nowhere", cast_to=object)
        assert raised.value.code == "not_found"
        it.stage.frontend.fail_all("the server is stopping")
        with pytest.raises(openai.InternalServerError, match="stopping") as raised:
            await create(model="x", messages=GO, stream=stream)
        assert (raised.value.status_code, raised.value.type) == (503, "server_error")

    serving(main)


def test_a_failure_in_mid_stream_is_an_exception_and_no_finish(serving, events):
    async def main(it):
        exchange = it.ask(stream=True, max_tokens=20)
        while len(exchange.chunks) < 2:
            await asyncio.sleep(0.001)
        it.stage.frontend.fail_all("the engine is gone")
        await exchange.wait()
        *chunks, last = events(exchange)
        assert last["error"] == {
            "message": "the engine is gone",
            "type": "server_error",
            "param": None,
            "code": "server_failing",
        }
        assert all(chunk["choices"][0]["finish_reason"] is None for chunk in chunks)

    serving(main)
