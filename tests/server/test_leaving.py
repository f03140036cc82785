"""A client leaves at each point of its request's life: one abort, and nothing is left. A soak's fast tier."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from minisgl_tutor.server.config import SchedulerConfig, ServerArgs
from minisgl_tutor.trace.asgi import AsgiClient, Exchange, Reader
from minisgl_tutor.trace.clock import run
from minisgl_tutor.trace.stage import Stage

SOAK = Path(__file__).parents[2] / "scripts" / "soak.py"
LONG = "x" * 130
"""More than eight prefill steps take."""

SLOWLY = Reader(us_per_chunk=5_000)
Find = Callable[[list[tuple[int, str]]], int]


def at(moment: str, nth: int = 0, plus: int = 0) -> Find:
    """The time of the nth event of that name, and so many microseconds."""
    return lambda events: [t for t, name in events if name == moment][nth] + plus


MOMENTS: dict[str, tuple[Find, int | None, Reader]] = {
    # When it leaves, by a run without leaving; how many aborts that takes (None: one at most); how it reads.
    "with its request": (lambda events: 0, None, Reader()),
    "while it is on the way to the tokenizer": (at("TokenizeMsg", plus=1), 1, Reader()),
    "while it is on the way to the scheduler": (at("UserMsg", plus=1), 1, Reader()),
    "in the queue": (at("UserMsg", plus=1_500), 1, Reader()),
    "in its first prefill chunk": (at("prefill of it", plus=500), 1, Reader()),
    "between two prefill chunks": (at("prefill of it", nth=1), 1, Reader()),
    "in its last prefill chunk": (at("prefill of it", nth=-1, plus=500), 1, Reader()),
    "as its first token comes": (at("UserReply"), 1, Reader()),
    "between two tokens": (at("UserReply", nth=3, plus=300), 1, Reader()),
    "while a chunk is written": (at("UserReply", nth=2, plus=1_000), 1, SLOWLY),
    "just before its last token": (at("UserReply", nth=-1, plus=-10), 1, Reader()),
    "as its last token leaves": (at("UserReply", nth=-1), None, Reader()),
    "just behind its last token": (at("UserReply", nth=-1, plus=1), None, Reader()),
}


@pytest.fixture(scope="module")
def soak() -> Iterator[ModuleType]:
    spec = spec_from_file_location("soak", SOAK)
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["soak"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["soak"]


class Life:
    """One request behind another that has the only slot, on a stage of its own."""

    def __init__(self, soak: ModuleType, streams: bool, spec_version: str) -> None:
        self.events: list[tuple[int, str]] = []
        self._soak = soak
        self._streams = streams
        self._spec_version = spec_version

    async def play(self, reader: Reader) -> Exchange:
        info = self._soak.INFO
        self.stage = Stage(
            ServerArgs(scheduler=SchedulerConfig(prefill_budget=16, seed=0)),
            "toy",
            self._soak.toy_tokenizer(),
            frozenset({self._soak.EOS}),
            self._soak.OneMillisecondEngine(
                type(info)(info.page_size, info.num_pages, 1, info.max_seq_len, info.vocab_size)
            ),
            lambda uid: (f"stamp{uid}", 0),
            on_step=self._note,
        )
        driver = asyncio.create_task(self.stage.drive_scheduler())
        client = AsgiClient(self.stage.app, spec_version=self._spec_version, high_water=1)
        first = self._ask(client, "first", 8, Reader())
        await asyncio.sleep(0.001)
        exchange = self._ask(client, LONG, 6, reader)
        await exchange.wait_app()
        await first.wait_app()
        assert first.status == 200
        while not self.stage.quiet:
            await asyncio.sleep(1)
        driver.cancel()
        return exchange

    def _ask(self, client: AsgiClient, text: str, max_tokens: int, reader: Reader) -> Exchange:
        body = {
            "model": "m",
            "prompt": text,
            "max_tokens": max_tokens,
            "ignore_eos": True,
            "stream": self._streams,
        }
        return client.request(
            "POST",
            "/v1/completions",
            headers={"content-type": "application/json"},
            body=json.dumps(body).encode(),
            reader=reader,
        )

    def _note(self, step) -> None:
        if step.title == "forward_batch" and 1 in step.uids and step.content[0]["type"] == "prefill":
            self.events.append((step.t_us, "prefill of it"))
        if step.title == "forward_batch" or 1 in step.uids:
            self.events.append((step.t_us, step.title))


@pytest.mark.parametrize("spec_version", ["2.3", "2.4"])
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("moment", MOMENTS)
def test_leaving_takes_one_abort_and_leaves_nothing(
    soak: ModuleType, moment: str, streams: bool, spec_version: str
) -> None:
    find, aborts, reader = MOMENTS[moment]
    stays, leaves = (Life(soak, streams, spec_version) for _ in range(2))
    whole = run(lambda: stays.play(Reader()))
    assert whole.status == 200 and not any(stays.stage.held().values())
    leaves_at_us = max(find(stays.events), 1_000)
    gone = Reader(us_per_chunk=reader.us_per_chunk, leaves_at_us=leaves_at_us)
    exchange = run(lambda: leaves.play(gone))
    assert exchange.app_traceback == ""
    assert not any(leaves.stage.held().values())
    leaves.stage.scheduler.check_integrity()
    assert len(leaves.stage.scheduler.table_manager.free_slots) == 1
    assert leaves.stage.scheduler.cache_manager.room == soak.INFO.num_pages
    sent = [name for _, name in leaves.events].count("AbortMsg")
    assert sent <= 1 if aborts is None else sent == aborts


def test_a_soak_finds_nothing(soak: ModuleType) -> None:
    it = soak.Soak(60, 3)
    it.run()
    assert it.wrong == []
    assert it.met["clients that left"] > 15 and it.met["aborts"] > 10


@pytest.mark.parametrize("gap", ["early-break", "blind-collect", "forgotten-decode"])
def test_a_soak_can_find_something(soak: ModuleType, gap: str) -> None:
    it = soak.Soak(60, 3, (gap,))
    it.run()
    assert it.wrong
