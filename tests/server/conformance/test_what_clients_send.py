"""Bodies as well-known clients send them, and what each needs of the answer."""

from __future__ import annotations

import asyncio
import json

import pytest

from minisgl_tutor.trace.asgi import Reader

EOS = 256
HI = [*b"Hi", EOS]
USER = {"role": "user", "content": "What is a KV cache?"}
PARTS = {"role": "user", "content": [{"type": "text", "text": "What is this?"}]}

BODIES = {
    "Open WebUI": {"stream": True, "messages": [USER]},
    "Open WebUI, with usage": {
        "stream": True,
        "messages": [{"role": "system", "content": "Be brief."}, USER],
        "stream_options": {"include_usage": True},
        "temperature": 0.8,
        "seed": 0,
        "stop": ["###"],
    },
    "Open WebUI, a title": {"stream": False, "messages": [USER], "max_completion_tokens": 1000},
    "Continue": {
        "messages": [{"role": "system", "content": "You are an agent."}, PARTS],
        "max_tokens": 4096,
        "stream": True,
        "temperature": 0.5,
        "stop": ["\n\n\n"],
        "tools": [],
        "parallel_tool_calls": False,
    },
    "langchain-openai": {
        "messages": [USER, {"role": "assistant", "content": "Hm.", "tool_calls": []}, USER],
        "stream": True,
        "stream_options": {"include_usage": True},
        "n": 1,
        "temperature": None,
    },
    "llm": {"messages": [USER], "stream": True, "stream_options": {"include_usage": True}},
    "litellm": {"messages": [USER], "user": "", "metadata": {"trace_id": "1"}},
    "an answer of the openai package sent back": {
        "messages": [
            USER,
            {
                "content": "Hi",
                "refusal": None,
                "role": "assistant",
                "annotations": None,
                "audio": None,
                "function_call": None,
                "tool_calls": None,
            },
            USER,
        ]
    },
}


@pytest.mark.parametrize("client", BODIES)
def test_it_is_answered(serving, events, client):
    async def main(it):
        exchange = await it.answer(**BODIES[client])
        assert exchange.status == 200, exchange.body
        if not BODIES[client].get("stream"):
            assert json.loads(exchange.body)["choices"][0]["message"]["content"] == "Hi"
            return
        *chunks, done = events(exchange)
        assert done == "[DONE]"
        pieces = [chunk["choices"][0]["delta"].get("content") or "" for chunk in chunks if chunk["choices"]]
        assert "".join(pieces) == "Hi"

    serving(main, {0: HI})


def test_completing_in_an_editor(serving, events):
    """Continue's completions: a prompt, a limit, places to stop."""

    async def main(it):
        exchange = await it.answer(
            "completions", prompt="def f(", max_tokens=100, stream=True, stop=["\n\n", "```"], suffix=""
        )
        *chunks, _ = events(exchange)
        assert "".join(chunk["choices"][0]["text"] for chunk in chunks) == "x):"

    serving(main, {0: b"x):\n\nmore"})


@pytest.mark.parametrize("stream", [True, False])
def test_the_stop_button_before_the_first_token(serving, stream):
    async def main(it):
        exchange = it.ask(stream=stream, messages=[USER], reader=Reader(leaves_at_us=5_000))
        await exchange.wait_app()
        await asyncio.sleep(0.1)
        assert exchange.status is None
        assert [msg["uid"] for msg in it.sent("AbortMsg")] == [0]
        assert len(it.sent("DetokenizeMsg")) <= 2

    serving(main)


def test_a_conversation_may_send_its_model_list_id(serving):
    async def main(it):
        listed = it.asgi.request("GET", "/v1/models")
        await listed.wait()
        (model,) = json.loads(listed.body)["data"]
        exchange = await it.answer(model=model["id"], max_tokens=1)
        assert json.loads(exchange.body)["model"] == model["id"]

    serving(main)
