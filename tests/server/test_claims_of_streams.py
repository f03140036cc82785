"""What chapter 5 states of the events of a stream and of whole answers, where no other test shows it."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from minisgl_tutor.bench.answer import EventReader
from minisgl_tutor.message import SamplingParams, Usage, UserReply
from minisgl_tutor.server.openai.answer import ResponseForm
from minisgl_tutor.server.openai.sse import DONE, EventStream
from minisgl_tutor.trace.clock import run

PARAMS = SamplingParams(max_tokens=9)


class Client:
    """One that stays."""

    async def receive(self) -> dict[str, str]:
        await asyncio.Event().wait()
        raise AssertionError


def replies(uid: int, *texts: str) -> list[UserReply]:
    *pieces, end = texts
    last = UserReply(uid, end, finished=True, finish_reason="stop", usage=Usage(1, len(texts), 0))
    return [*(UserReply(uid, text, finished=False) for text in pieces), last]


def chunks_of(rig: Any, *texts: str) -> list[bytes]:
    """What the encoder yields when each reply comes by itself."""
    chunks: list[bytes] = []

    async def main() -> None:
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        generator = r.state.stream_chat_completions(uid, ResponseForm("x", 0, "toy", chat=True))
        for reply in replies(uid, *texts):
            r.feed(reply)
            chunks.append(await anext(generator))
        chunks.extend([chunk async for chunk in generator])

    run(main)
    return chunks


def deltas(chunks: list[bytes]) -> list[tuple[dict[str, str], str | None]]:
    """Delta and reason of each chunk but the end mark."""
    choices = [json.loads(chunk.removeprefix(b"data: "))["choices"][0] for chunk in chunks[:-1]]
    return [(choice["delta"], choice["finish_reason"]) for choice in choices]


@pytest.mark.parametrize("texts", [("a", "b"), ("",), ("什么", "", "!")], ids=str)
def test_form_of_events(rig: Any, texts: tuple[str, ...]) -> None:
    """C5.87, C5.103, K5.34: bytes, each an event with the empty line that ends it."""
    chunks = chunks_of(rig, *texts)
    assert all(isinstance(chunk, bytes) for chunk in chunks)
    for chunk in chunks:
        assert chunk.startswith(b"data: ") and chunk.endswith(b"\n\n") and chunk.count(b"\n") == 2
    assert len(chunks) == len(texts) + 2 and chunks[-1] == DONE


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (("Hi", "", "!"), {"role": "assistant", "content": "Hi"}),
        (("", "Hi", "!"), {"role": "assistant"}),
    ],
)
def test_empty_texts_and_the_role(rig: Any, texts: tuple[str, ...], first: dict[str, str]) -> None:
    """C5.92 to C5.95: an empty text has no content, and the role comes once, with the first piece."""
    found = deltas(chunks_of(rig, *texts))
    others = [({"content": text} if text else {}, None) for text in texts[1:]]
    assert found == [(first, None), *others, ({}, "stop")]


def test_the_end_mark_is_an_event_as_any_other(rig: Any) -> None:
    """C5.98, K5.30: a reader of events hands it over, and it is no JSON."""
    reader = EventReader()
    data = [each for chunk in chunks_of(rig, "a") for each in reader.feed(chunk)]
    assert data[-1] == b"[DONE]"
    with pytest.raises(json.JSONDecodeError):
        json.loads(data[-1])


def test_each_yield_is_a_block() -> None:
    """C5.101: the response passes on what the generator yields, block by block."""
    sent: list[dict[str, Any]] = []

    async def body() -> AsyncGenerator[bytes, None]:
        for block in (b"one", b"two", b"three"):
            yield block

    async def send(message: Any) -> None:
        sent.append(message)

    async def main() -> None:
        scope = {"type": "http", "asgi": {"spec_version": "2.3"}}
        await EventStream(body())(scope, Client().receive, send)

    run(main)
    blocks = [message["body"] for message in sent if message["type"] == "http.response.body"]
    assert blocks == [b"one", b"two", b"three", b""]


def test_the_end_of_a_stream_is_logged(rig: Any, caplog: pytest.LogCaptureFixture) -> None:
    """C5.105."""
    with caplog.at_level(logging.DEBUG, logger="minisgl_tutor.server.frontend"):
        chunks_of(rig, "a")
    assert "finished streaming to user 0" in caplog.messages


def test_a_whole_answer_joins_up_to_the_finished_reply(rig: Any) -> None:
    """C5.110, C5.111."""

    async def main() -> None:
        r = rig()
        uid = await r.state.submit("a", PARAMS)
        r.feed(*replies(uid, "a", "b", "c"), UserReply(uid, "more", finished=False))
        assert (await r.state.collect(uid, Client())).text == "abc"

    run(main)
