"""The whole server but for the model, in one process and virtual time, asked by the openai client."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import httpx
import numpy as np
import openai
import pytest
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from minisgl_tutor.engine.base import EngineInfo, ForwardBatch, Logprobs
from minisgl_tutor.message import SamplingParams
from minisgl_tutor.server.api_server import fresh_stamp
from minisgl_tutor.server.config import ServerArgs
from minisgl_tutor.tokenizer.pieces import byte_letters
from minisgl_tutor.tokenizer.template import ChatTemplate
from minisgl_tutor.tokenizer.tokenizer import Tokenizer
from minisgl_tutor.trace.asgi import AsgiClient, Exchange, Reader
from minisgl_tutor.trace.clock import run
from minisgl_tutor.trace.stage import Stage

EOS = 256
STEP_US = 10_000
TEMPLATE = "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }}\n{% endfor %}"


class Step:
    """Its tokens can be read 10 ms after the launch."""

    def __init__(self, engine: ScriptedEngine, batch: ForwardBatch) -> None:
        self._engine = engine
        self._batch = batch
        self._read_us = max(asyncio.get_running_loop().now_us(), engine.read_until_us) + STEP_US

    def next_tokens(self) -> list[int]:
        self._engine.read_until_us = max(self._engine.read_until_us, self._read_us)
        rows = zip(
            self._batch.uids,
            self._batch.seq_lens.tolist(),
            self._batch.sampling.seeds.tolist(),
            self._batch.emits.tolist(),
            strict=True,
        )
        return [self._engine.token(uid, end, seed) if emits else -1 for uid, end, seed, emits in rows]

    def logprobs(self) -> Logprobs:
        wanted = self._batch.sampling.logprobs
        assert wanted is not None
        count = len(wanted.rows)
        return Logprobs(
            np.full(count, -0.5, np.float32),
            np.tile(np.arange(97, 97 + wanted.top), (count, 1)),
            np.tile(-np.arange(1, 1 + wanted.top, dtype=np.float32), (count, 1)),
        )


class ScriptedEngine:
    """Gives each uid the tokens of its script, and behind them, or without one, the letter of its seed."""

    def __init__(self, info: EngineInfo, scripts: dict[int, Sequence[int]]) -> None:
        self.info = info
        self.read_until_us = 0
        self._scripts = scripts
        self._first: dict[int, int] = {}

    def next_event_us(self) -> None:
        return None

    def forward_batch(self, batch: ForwardBatch) -> Step:
        return Step(self, batch)

    def token(self, uid: int, position: int, seed: int) -> int:
        index = position - self._first.setdefault(uid, position)
        script = self._scripts.get(uid, [])
        return script[index] if index < len(script) else 97 + seed % 26

    def close(self) -> None:
        pass


class Transport(httpx.AsyncBaseTransport):
    """Carries the requests of an httpx client to the app, and their whole answers back."""

    def __init__(self, client: AsgiClient) -> None:
        self._client = client

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        exchange = self._client.request(
            request.method,
            request.url.raw_path.decode(),
            headers=dict(request.headers),
            body=await request.aread(),
        )
        await exchange.wait()
        await exchange.wait_app()
        assert exchange.app_traceback == ""
        assert exchange.status is not None
        return httpx.Response(exchange.status, headers=exchange.headers, content=exchange.body)


class Service:
    """A server that runs, and its clients. Each of its ``special`` tokens ends an answer."""

    def __init__(
        self,
        scripts: dict[int, Sequence[int]],
        engine: Any = None,
        template: str = TEMPLATE,
        special: Sequence[str] = ("<|eos|>",),
        **args: Any,
    ) -> None:
        library = LibraryTokenizer(models.BPE(vocab=byte_letters(), merges=[]))
        library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        library.decoder = decoders.ByteLevel()
        library.add_special_tokens([AddedToken(name, special=True) for name in special])
        tokenizer = Tokenizer(library, ChatTemplate(template, {}), eos_token="<|eos|>")
        self.stage = Stage(
            ServerArgs(**args),
            "toy",
            tokenizer,
            frozenset(range(EOS, EOS + len(special))),
            engine or ScriptedEngine(EngineInfo(4, 64, 8, 128, 257), scripts),
            fresh_stamp,
        )
        self.asgi = AsgiClient(self.stage.app)

    @cached_property
    def openai(self) -> openai.AsyncOpenAI:
        client = openai.AsyncOpenAI(
            base_url="http://toy/v1",
            api_key="none",
            max_retries=0,
            http_client=httpx.AsyncClient(transport=Transport(self.asgi)),
        )
        client._platform = "Linux"  # which it would ask a thread for, unseen by virtual time
        return client

    def ask(self, path: str = "chat/completions", reader: Reader | None = None, **body: Any) -> Exchange:
        """A request on its way."""
        given = {"model": "toy", **body}
        if path == "chat/completions":
            given.setdefault("messages", [{"role": "user", "content": "go"}])
        return self.asgi.request(
            "POST",
            f"/v1/{path}",
            headers={"content-type": "application/json"},
            body=json.dumps(given).encode(),
            reader=reader or Reader(),
        )

    async def answer(self, path: str = "chat/completions", **body: Any) -> Exchange:
        """A request and its whole answer."""
        exchange = self.ask(path, **body)
        await exchange.wait()
        return exchange

    def sent(self, kind: str) -> list[dict[str, Any]]:
        """The messages of a kind that crossed a link."""
        return [msg for step in self.stage.tracer.steps for msg in step.content if msg["type"] == kind]

    @property
    def params(self) -> list[SamplingParams]:
        """The sampling values that were sent to the tokenizer, by request."""
        return [SamplingParams(**msg["sampling_params"]) for msg in self.sent("TokenizeMsg")]


Main = Callable[[Service], Awaitable[None]]


def serve(main: Main, scripts: dict[int, Sequence[int]] | None = None, **args: Any) -> None:
    """Runs ``main`` against a service, and sees that nothing is left behind."""

    async def play() -> None:
        service = Service(scripts or {}, **args)
        driver = asyncio.create_task(service.stage.drive_scheduler())
        await main(service)
        for exchange in service.asgi.exchanges:
            await exchange.wait_app()
        await asyncio.sleep(1)
        if driver.done():
            driver.result()
        driver.cancel()
        assert not any(service.stage.held().values()), service.stage.held()
        service.stage.scheduler.check_integrity()
        await service.stage.frontend.close()

    run(play)


@pytest.fixture(scope="session")
def serving() -> Iterator[Callable[..., None]]:
    yield serve


def events_of(exchange: Exchange) -> list[Any]:
    """The bodies of the events of a stream; the end mark as it is."""
    assert exchange.headers["content-type"].startswith("text/event-stream")
    events = exchange.body.decode().split("\n\n")
    assert events.pop() == ""
    data = [event.removeprefix("data: ") for event in events]
    return [each if each == "[DONE]" else json.loads(each) for each in data]


@pytest.fixture(scope="session")
def events() -> Callable[[Exchange], list[Any]]:
    return events_of
