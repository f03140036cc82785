"""Reported faults: clients that leave (A1 to A5 of ``docs/cases.md``)."""

from __future__ import annotations

import asyncio
import json
import logging

import pytest

from minisgl_tutor.engine.base import EngineInfo
from minisgl_tutor.server.config import SchedulerConfig, ServerArgs
from minisgl_tutor.server.operations.ledger import Ledger
from minisgl_tutor.server.operations.operations import Operations
from minisgl_tutor.server.operations.watch import Pulses
from minisgl_tutor.trace.asgi import AsgiClient, Reader

LEAVES = Reader(leaves_at_us=500_000)
both_ways = pytest.mark.parametrize("stream", [False, True])


def assert_free(it):
    scheduler = it.stage.scheduler
    assert not any(it.stage.held().values())
    assert len(scheduler.table_manager.free_slots) == scheduler.table_manager.num_slots
    assert scheduler.cache_manager.available == it.stage.engine.info.num_pages


def steps(it, phase):
    """The uids of each step of that kind."""
    calls = [step for step in it.stage.tracer.steps if step.title == "forward_batch"]
    return [step.uids for step in calls if step.content[0]["type"] == phase]


def slots(count):
    return EngineInfo(4, 64, count, 128, 257)


def test_case_a1_who_left_does_not_keep_others_waiting(serving, scripted, caplog):
    """Two streams have both slots and leave after their first chunk; a third request is served at once."""
    caplog.set_level(logging.INFO, "minisgl_tutor")

    async def main(it):
        gone = [
            it.ask(stream=True, ignore_eos=True, max_tokens=4000, reader=Reader(leaves_before_chunk=2))
            for _ in range(2)
        ]
        for exchange in gone:
            await exchange.wait()
            assert b"delta" in exchange.body
        loop = asyncio.get_running_loop()
        asked = loop.time()
        third = await it.answer(max_tokens=4)
        assert third.status == 200 and loop.time() - asked < 0.2
        await asyncio.sleep(1)
        assert_free(it)
        assert sorted(msg["uid"] for msg in it.sent("AbortMsg")) == [0, 1]
        assert len([msg for msg in it.sent("DetokenizeMsg") if msg["uid"] < 2]) < 20
        assert len(caplog.records) <= 2

    serving(main, engine=scripted(slots(2)))


def test_case_a2_one_abort_for_each_that_leaves_and_none_for_an_end(serving):
    async def main(it):
        body = {"prompt": "go", "stream": True, "ignore_eos": True, "max_tokens": 100}
        gone = it.ask("completions", reader=Reader(leaves_before_chunk=5), **body)
        await gone.wait_app()
        await asyncio.sleep(1)
        assert [msg["uid"] for msg in it.sent("AbortMsg")] == [0]
        launched = len(steps(it, "decode"))
        assert launched < 10
        assert_free(it)
        assert (await it.answer("completions", prompt="go", max_tokens=4)).status == 200
        assert [msg["uid"] for msg in it.sent("AbortMsg")] == [0]
        for uid in (0, 1, 77):  # gone, ended, never there
            await it.stage.frontend.abort_user(uid)
        await asyncio.sleep(1)
        assert (await it.answer("completions", prompt="go", max_tokens=4)).status == 200

    serving(main)


def test_case_a2_a_server_that_stops_while_a_client_leaves(serving):
    async def main(it):
        gone = it.ask(stream=True, ignore_eos=True, max_tokens=100, reader=LEAVES)
        await asyncio.sleep(0.499999)
        it.stage.frontend.fail_all("the server is stopping")
        await gone.wait_app()
        await asyncio.sleep(1)
        assert len(it.sent("AbortMsg")) <= 1 and gone.app_traceback == ""

    serving(main)


@both_ways
@pytest.mark.parametrize(
    "around", [{}, {"api_key": "k"}, {"api_key": "k", "allow_origins": ("*",)}], ids=["plain", "key", "all"]
)
@pytest.mark.parametrize("more", [{}, {"n": 3}], ids=["one", "three"])
def test_case_a3_no_layer_hides_who_left(serving, caplog, stream, around, more):
    """Request log, metrics, limits, API key and CORS stand around the app."""
    caplog.set_level(logging.INFO, "minisgl_tutor.server.limits.access")

    async def main(it):
        loop = asyncio.get_running_loop()
        args = ServerArgs(**around)
        layers = Operations(
            args, it.stage.frontend, it.stage.app, it.stage.app, Ledger(loop.time), Pulses({}, args.limits)
        )
        it.asgi = AsgiClient(layers.asgi)
        headers = {"content-type": "application/json", "authorization": "Bearer k", "origin": "http://x"}
        body = {
            "model": "toy",
            "prompt": "go",
            "max_tokens": 100,
            "ignore_eos": True,
            "stream": stream,
            **more,
        }
        gone = it.asgi.request(
            "POST", "/v1/completions", headers=headers, body=json.dumps(body).encode(), reader=LEAVES
        )
        await gone.wait_app()
        await asyncio.sleep(0.1)
        assert sorted(msg["uid"] for msg in it.sent("AbortMsg")) == list(range(more.get("n", 1)))
        assert_free(it)
        (line,) = [record.getMessage() for record in caplog.records]
        assert (" 200 cut short in " if stream else " 499 in ") in line

    serving(main)


@both_ways
def test_case_a5_who_leaves_in_prefill_gets_no_further_chunk(serving, stream):
    """A prompt of 100 tokens in chunks of 4, each of which takes 10 ms; the client leaves after 100 ms."""

    async def main(it):
        reader = Reader(leaves_at_us=100_000)
        await it.ask("completions", prompt="x" * 100, max_tokens=20, stream=stream, reader=reader).wait_app()
        at_leaving = len(steps(it, "prefill"))
        await asyncio.sleep(1)
        assert len(steps(it, "prefill")) <= at_leaving + 2 < 25
        (end,) = it.sent("DetokenizeMsg")
        assert steps(it, "decode") == [] and end["finish_reason"] == "abort"
        assert_free(it)

    serving(main, scheduler=SchedulerConfig(prefill_budget=4))


@both_ways
def test_case_a5_who_leaves_while_waiting_is_never_scheduled(serving, scripted, stream):
    async def main(it):
        first = it.ask(max_tokens=100, ignore_eos=True)
        await asyncio.sleep(0.1)
        await it.ask(max_tokens=20, stream=stream, reader=LEAVES).wait_app()
        await first.wait()
        assert all(uids == [0] for phase in ("prefill", "decode") for uids in steps(it, phase))
        assert [msg["uid"] for msg in it.sent("AbortMsg")] == [1]

    serving(main, engine=scripted(slots(1)))
