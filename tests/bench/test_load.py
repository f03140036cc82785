"""A load on an ASGI app in this process, under virtual time: every latency is exact."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from typing import Any

import pytest

from minisgl_tutor.bench.answer import Answer, RequestFailed, error_message
from minisgl_tutor.bench.asks import Ask
from minisgl_tutor.bench.load import Load
from minisgl_tutor.trace.clock import run

Script = Callable[[dict[str, Any]], AsyncGenerator[bytes]]


def event(text: str, reason: str | None = None) -> bytes:
    data = {"choices": [{"index": 0, "text": text, "finish_reason": reason}]}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


class Model:
    """An ASGI app that needs 0.5 s to the first token and 0.01 s for each further one.

    It keeps when each request came, and how many there were at once at most.
    """

    def __init__(self, missing: int = 0) -> None:
        self.missing = missing
        self.came: list[float] = []
        self.at_once = self.most_at_once = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.came.append(asyncio.get_running_loop().time())
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        body = json.loads((await receive())["body"])
        if body.get("refuse"):
            await send({"type": "http.response.start", "status": 400})
            await send({"type": "http.response.body", "body": b'{"error": {"message": "too long"}}'})
            return
        await send({"type": "http.response.start", "status": 200})
        count = body["max_tokens"]
        for number in range(count - self.missing):
            await asyncio.sleep(0.01 if number else 0.5)
            await send({"type": "http.response.body", "body": event("x"), "more_body": True})
            if number == body.get("break_after"):
                return
        usage = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": count - self.missing}}
        last = event("", "length") + b"data: " + json.dumps(usage).encode() + b"\n\ndata: [DONE]\n\n"
        self.at_once -= 1
        await send({"type": "http.response.body", "body": last, "more_body": False})


class InProcess:
    """Calls the app without a socket."""

    def __init__(self, app: Model) -> None:
        self.app = app

    async def post(self, path: str, body: bytes) -> AsyncGenerator[bytes]:
        sent: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body}

        async def serve() -> None:
            await self.app({"type": "http", "path": path}, receive, sent.put)
            await sent.put(None)

        task = asyncio.create_task(serve())
        try:
            start = await sent.get()
            assert start is not None
            while (message := await sent.get()) is not None:
                if start["status"] != 200:
                    raise RequestFailed(f"HTTP {start['status']}", error_message(message["body"]))
                yield message["body"]
        finally:
            task.cancel()


def ask(due_s: float = 0.0, tokens: int = 5, **more: Any) -> Ask:
    return Ask(due_s, "/v1/completions", {"max_tokens": tokens, **more}, tokens)


class Counted:
    def __init__(self) -> None:
        self.texts = self.ends = 0

    def text(self) -> None:
        self.texts += 1

    def end(self, answer: Answer) -> None:
        self.ends += 1


def test_latencies_are_what_the_server_made_them() -> None:
    counted = Counted()

    async def main() -> list[Answer]:
        return await Load(InProcess(Model()), 60, counted).at_once([ask(tokens=5)], 1)

    (answer,) = run(main)
    assert answer.failure is None
    assert answer.first_s == pytest.approx(0.5)
    assert answer.gaps_s == pytest.approx([0.01] * 4)
    assert answer.per_token_s == pytest.approx(0.01)
    assert answer.whole_s == pytest.approx(0.54)
    assert (answer.tokens, answer.finish_reason, answer.is_short) == (5, "length", False)
    assert (counted.texts, counted.ends) == (5, 1)


@pytest.mark.parametrize("concurrency, most, seconds", [(1, 1, 6 * 0.54), (2, 2, 3 * 0.54), (6, 6, 0.54)])
def test_so_many_at_a_time(concurrency: int, most: int, seconds: float) -> None:
    model = Model()

    async def main() -> list[Answer]:
        return await Load(InProcess(model), 60).at_once([ask()] * 6, concurrency)

    answers = run(main)
    assert model.most_at_once == most
    assert max(answer.end_s for answer in answers) == pytest.approx(seconds)


def test_each_when_it_is_due_however_slow_the_server() -> None:
    model = Model()

    async def main() -> list[Answer]:
        return await Load(InProcess(model), 60).when_due([ask(due) for due in (0.0, 0.1, 0.1, 3.0)])

    answers = run(main)
    assert model.came == pytest.approx([0.0, 0.1, 0.1, 3.0])
    assert [answer.sent_s for answer in answers] == pytest.approx([0.0, 0.1, 0.1, 3.0])
    assert model.most_at_once == 3


def test_a_token_that_never_comes_shows() -> None:
    async def main() -> list[Answer]:
        return await Load(InProcess(Model(missing=1)), 60).at_once([ask(tokens=256)], 1)

    (answer,) = run(main)
    assert (answer.tokens, len(answer.chunk_times), answer.is_short) == (255, 255, True)


def test_failures_are_told_apart_and_the_others_go_on() -> None:
    async def main() -> list[Answer]:
        asks = [ask(), ask(refuse=True), ask(break_after=2), ask(tokens=2000)]
        return await Load(InProcess(Model()), timeout_s=5).at_once(asks, 4)

    kinds = [(answer.failure.kind if answer.failure else None) for answer in run(main)]
    assert sorted(kinds, key=str) == sorted(["HTTP 400", "broken off", None, "timeout"], key=str)
