"""The shipped model behind all components, on links in memory: many clients at once, and nothing left."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable

import pytest

from minisgl_tutor.engine.base import Engine, EngineInfo, ForwardBatch, ForwardOutput
from minisgl_tutor.engine.build import build_engine
from minisgl_tutor.resources import model_dir
from minisgl_tutor.server.config import SchedulerConfig, ServerArgs
from minisgl_tutor.tokenizer.load import load_eos_token_ids, load_tokenizer
from minisgl_tutor.trace.asgi import AsgiClient, Exchange, Reader
from minisgl_tutor.trace.clock import VirtualTimeLoop, run
from minisgl_tutor.trace.stage import Stage

STEP_US = 1_000
QUESTIONS = [
    "What is a KV cache?",
    "什么是 KV Cache？",
    "What is continuous batching?",
    "What is a scheduler?",
    "什么是分词器？",
    "Who are you?",
    "What is prefill?",
    "Tell me about the tokenizer.",
]
ARGS = ServerArgs(threads=1, max_running_req=8, num_pages=512, scheduler=SchedulerConfig(prefill_budget=64))


class OnePerMillisecond:
    """A real engine whose steps take a millisecond of virtual time each."""

    def __init__(self, engine: Engine, now_us: Callable[[], int]) -> None:
        self._engine = engine
        self._now_us = now_us
        self.read_until_us = 0

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    def forward_batch(self, batch: ForwardBatch) -> ForwardOutput:
        self.read_until_us = self._now_us() + STEP_US
        return self._engine.forward_batch(batch)

    def next_event_us(self) -> None:
        return None

    def close(self) -> None:
        pass


@pytest.fixture(scope="module")
def engine() -> Engine:
    return build_engine(ARGS)


def body(question: str, stream: bool) -> bytes:
    request = {"model": "m", "messages": [{"role": "user", "content": question}], "max_tokens": 40}
    options = {"stream": True, "stream_options": {"include_usage": True}} if stream else {}
    return json.dumps({**request, **options}).encode()


def answer(exchange: Exchange) -> tuple[str, dict[str, int], str]:
    """Text, usage and finish reason of either form."""
    assert exchange.status == 200
    if exchange.headers["content-type"].startswith("application/json"):
        whole = json.loads(exchange.body)
        choice = whole["choices"][0]
        return choice["message"]["content"], whole["usage"], choice["finish_reason"]
    events = [part.removeprefix("data: ") for part in exchange.body.decode().strip().split("\n\n")]
    assert events.pop() == "[DONE]"
    usage = json.loads(events.pop())
    assert usage["choices"] == []
    choices = [json.loads(event)["choices"][0] for event in events]
    text = "".join(choice["delta"].get("content", "") for choice in choices)
    return text, usage["usage"], choices[-1]["finish_reason"]


def ask(engine: Engine, requests: list[tuple[str, bool]], leave_us: dict[int, int] | None = None):
    """Sends them, half a millisecond apart, and gives the exchanges and the stage when all is quiet."""

    async def main() -> tuple[list[Exchange], Stage]:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualTimeLoop)
        tokenizer = load_tokenizer(model_dir())
        stage = Stage(
            ARGS,
            "m",
            tokenizer,
            load_eos_token_ids(model_dir(), tokenizer),
            OnePerMillisecond(engine, loop.now_us),
            stamp=lambda uid: (str(uid), 0),
        )
        driver = asyncio.create_task(stage.drive_scheduler())
        client = AsgiClient(stage.app)
        exchanges = []
        for i, (question, stream) in enumerate(requests):
            reader = Reader(leaves_at_us=(leave_us or {}).get(i))
            headers = {"content-type": "application/json"}
            data = body(question, stream)
            exchanges.append(
                client.request("POST", "/v1/chat/completions", headers=headers, body=data, reader=reader)
            )
            await asyncio.sleep(STEP_US / 2e6)
        for exchange in exchanges:
            await exchange.wait()
        while not stage.quiet:
            await asyncio.sleep(0.01)
        driver.cancel()
        return exchanges, stage

    return run(main)


def generated(stage: Stage, uid: int) -> int:
    """Tokens that the scheduler sent for a request; uids follow the order of the requests."""
    return sum(
        message["uid"] == uid and message.get("next_token") is not None
        for step in stage.tracer.steps
        if step.source == "scheduler" and step.kind == "message"
        for message in step.content
    )


def assert_nothing_left(stage: Stage) -> None:
    assert not any(stage.held().values())
    stage.scheduler.check_integrity()
    assert len(stage.scheduler.table_manager.free_slots) == ARGS.max_running_req
    assert stage.scheduler.cache_manager.available == ARGS.num_pages


@pytest.fixture(scope="module")
def alone(engine: Engine) -> dict[str, tuple[str, dict[str, int], str]]:
    return {question: answer(ask(engine, [(question, False)])[0][0]) for question in QUESTIONS}


def test_thirty_two_at_once_get_their_own_answers(engine, alone):
    """Streaming and not, side by side: texts as if alone, usage true, everything free afterwards."""
    requests = [(QUESTIONS[i % len(QUESTIONS)], bool(i % 2)) for i in range(16)]
    requests += [(question, not stream) for question, stream in requests]
    exchanges, stage = ask(engine, requests)
    tokenizer = load_tokenizer(model_dir())
    for uid, ((question, _), exchange) in enumerate(zip(requests, exchanges, strict=True)):
        text, usage, reason = answer(exchange)
        expected_text, _, expected_reason = alone[question]
        assert (text, reason) == (expected_text, expected_reason)
        prompt = tokenizer.apply_chat_template([{"role": "user", "content": question}])
        assert usage["prompt_tokens"] == len(tokenizer.encode(prompt, add_special_tokens=False))
        assert usage["completion_tokens"] == generated(stage, uid) <= 40
        assert reason == "stop" or usage["completion_tokens"] == 40
        assert usage["prompt_tokens_details"]["cached_tokens"] < usage["prompt_tokens"]
    assert any(answer(exchange)[1]["prompt_tokens_details"]["cached_tokens"] for exchange in exchanges)
    assert_nothing_left(stage)


def test_case_e10_clients_that_leave_change_nobody_elses_answer(engine, alone):
    requests = [(QUESTIONS[i % len(QUESTIONS)], bool(i // 2 % 2)) for i in range(32)]
    leave_us = {i: 1_000 * i + 700 for i in range(0, 32, 3)}
    exchanges, stage = ask(engine, requests, leave_us)
    for i, ((question, _), exchange) in enumerate(zip(requests, exchanges, strict=True)):
        if i not in leave_us:
            assert answer(exchange)[0] == alone[question][0]
    aborted = [uid for step in stage.tracer.steps if step.title == "AbortMsg" for uid in step.uids]
    left = [i for i, exchange in enumerate(exchanges) if "left" in {event.kind for event in exchange.events}]
    assert sorted(aborted) == left != []
    assert_nothing_left(stage)
