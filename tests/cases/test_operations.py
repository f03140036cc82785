"""Reported faults of running and stopping a server (F of ``docs/cases.md``)."""

from __future__ import annotations

import asyncio
import json
import signal
import socket
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import httpx
import pytest

from minisgl_tutor.engine.base import EngineInfo
from minisgl_tutor.trace.asgi import AsgiClient, Reader

FAKE_SERVER = str(Path(__file__).parents[1] / "server" / "launch" / "fake_server.py")


def port_of(server):
    return int(server.url.rpartition(":")[2])


def test_case_f2_a_server_that_was_killed_leaves_its_port_to_the_next(start_server):
    first = start_server(FAKE_SERVER, "0", "2").wait_ready()
    stream = first.stream()
    first.parent.kill()
    assert first.wait_end() == -signal.SIGKILL
    second = start_server(FAKE_SERVER, str(port_of(first)), "2").wait_ready()
    assert second.ask("1").json()["choices"][0]["text"] == "word "
    second.signal(signal.SIGINT)
    assert second.wait_end() == 0
    stream.leave()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_case_f3_one_signal_ends_a_server_with_a_whole_answer_pending_and_an_idle_client(
    start_server, until, number
):
    """The pending answer is a 503 with a sentence; nothing is accepted after."""
    server = start_server(FAKE_SERVER, "0", "1").wait_ready()
    with ThreadPoolExecutor(1) as pool, httpx.Client(base_url=server.url, trust_env=False) as idle:
        pending = pool.submit(server.ask, "for ever")
        until(lambda: idle.get("/health").json()["requests"] == 1, "the request is there")
        server.signal(number)
        answer = pending.result()
    assert answer.status_code == 503 and "stopping" in answer.json()["error"]["message"]
    assert server.wait_end() == 0
    assert "Traceback" not in server.log
    with socket.socket() as late:
        assert late.connect_ex(("127.0.0.1", port_of(server))) != 0


def test_case_f5_readers_that_stop_cost_a_bounded_amount_and_nobody_else_anything(serving, scripted):
    """Ten stop reading, one of them until the end of the others; a normal client meanwhile has all of it."""
    length, stalled = 1200, ((0, 10_000_000_000),)

    async def main(it):
        it.asgi = AsgiClient(it.stage.app, high_water=1)
        asks = {"prompt": "go", "stream": True, "ignore_eos": True, "max_tokens": length}
        slow = [it.ask("completions", reader=Reader(stalls_us=stalled), **asks) for _ in range(10)]
        fine = it.ask("completions", **asks)
        most = 0
        while not fine.over:
            await asyncio.sleep(0.05)
            held = it.stage.held()["api"]
            most = max([most, *(parts.get("ack_map", 0) for parts in held.values())])
        assert fine.body.endswith(b"data: [DONE]\n\n")
        text = "".join(
            choice["text"]
            for event in fine.body.decode().split("\n\n")[:-2]
            for choice in json.loads(event.removeprefix("data: "))["choices"]
        )
        assert len(text) == length
        times = [event.at_us for event in fine.events if event.kind == "chunk"]
        assert max(b - a for a, b in pairwise(times)) < 100_000  # virtual: exact
        assert 0 < most <= 101
        slow[0].resume()
        await slow[0].wait()
        assert b"slow_reader" in slow[0].body and b"[DONE]" not in slow[0].body
        for exchange in slow[1:]:
            exchange.leave()
        assert sorted(msg["uid"] for msg in it.sent("AbortMsg")) == list(range(10))

    serving(main, engine=scripted(EngineInfo(4, 4096, 16, 2048, 257)), backlog_limit=100)


def test_case_f5_who_resumes_in_time_has_everything_in_order(serving, scripted):
    letters = bytes(97 + i % 26 for i in range(90))

    async def main(it):
        it.asgi = AsgiClient(it.stage.app, high_water=1)
        reader = Reader(stalls_us=((100_000, 2_000_000),))
        exchange = it.ask("completions", prompt="go", stream=True, max_tokens=90, reader=reader)
        await exchange.wait()
        *events, done, _ = exchange.body.decode().split("\n\n")
        assert done == "data: [DONE]"
        chunks = [json.loads(event.removeprefix("data: ")) for event in events]
        assert "".join(choice["text"] for chunk in chunks for choice in chunk["choices"]) == letters.decode()
        assert chunks[-1]["choices"][0]["finish_reason"] == "length"

    serving(main, {0: letters}, backlog_limit=100)


def test_case_f7_a_long_conversation_is_refused_before_it_is_tokenized(serving):
    async def main(it):
        for text in ("x" * 5_000_000, "é" * 2_000_001):
            exchange = await it.answer(messages=[{"role": "user", "content": text}])
            assert exchange.status in (400, 413)
            assert "shorten" in json.loads(exchange.body)["error"]["message"]
        assert (await it.answer(messages=[{"role": "user", "content": "x" * 17_000_000}])).status == 413
        assert it.sent("TokenizeMsg") == []
        assert (await it.answer(max_tokens=1)).status == 200

    serving(main)
