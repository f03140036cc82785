"""Seeded random requests, most of them wrong, to all components: the fast tier of `scripts/fuzz_http.py`."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from minisgl_tutor.server.config import SchedulerConfig, ServerArgs
from minisgl_tutor.trace.asgi import AsgiClient, Exchange, Reader
from minisgl_tutor.trace.clock import run
from minisgl_tutor.trace.stage import Stage

SCRIPTS = Path(__file__).parents[2] / "scripts"
REQUESTS = 60
PATHS = ["/v1/chat/completions", "/v1/completions"]


@pytest.fixture(scope="module")
def scripts() -> Iterator[dict[str, Any]]:
    found = {}
    for name in ("soak", "fuzz_http"):
        spec = spec_from_file_location(name, SCRIPTS / f"{name}.py")
        assert spec is not None and spec.loader is not None
        found[name] = sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(found[name])
    yield found
    for name in found:
        del sys.modules[name]


@pytest.mark.parametrize("seed", range(4))
def test_no_request_is_the_servers_fault_and_none_leaves_anything(scripts: Any, seed: int) -> None:
    soak, fuzz = scripts["soak"], scripts["fuzz_http"].Fuzz(seed)
    config = SchedulerConfig(prefill_budget=64, overlap=True, seed=seed, head_room=8)

    async def main() -> tuple[Stage, list[Exchange]]:
        engine = soak.OneMillisecondEngine(soak.INFO, lag=True)
        stage = Stage(
            ServerArgs(num_tokenizer=2, scheduler=config),
            *("toy", soak.toy_tokenizer(), frozenset({soak.EOS}), engine, lambda uid: (f"stamp{uid}", 0)),
        )
        client = AsgiClient(stage.app)
        driver = asyncio.create_task(stage.drive_scheduler())
        exchanges = [ask(client, fuzz) for _ in range(REQUESTS)]
        for exchange in exchanges:
            await exchange.wait_app()
        while not stage.quiet:
            await asyncio.sleep(1)
        driver.cancel()
        return stage, exchanges

    stage, exchanges = run(main)
    assert [each.app_traceback for each in exchanges if each.app_traceback] == []
    statuses = Counter(each.status for each in exchanges)
    assert set(statuses) <= {200, 400, None}, [each.body[:300] for each in exchanges if each.status == 500]
    assert statuses[200] > REQUESTS // 5 and statuses[400] > REQUESTS // 5, "it is no test of the other"
    for each in exchanges:
        if each.status == 400:
            assert set(json.loads(each.body)["error"]) == {"message", "type", "param", "code"}
    assert not any(stage.held().values())
    stage.scheduler.check_integrity()
    assert stage.scheduler.cache_manager.room == soak.INFO.num_pages
    assert len(stage.scheduler.table_manager.free_slots) == soak.INFO.num_slots


def ask(client: AsgiClient, fuzz: Any) -> Exchange:
    path = fuzz.random.choice(PATHS)
    leaves = fuzz.random.randrange(200_000) if fuzz.often(0.2) else None
    return client.request(
        "POST",
        path,
        headers={"content-type": "application/json"},
        body=fuzz.body(path),
        reader=Reader(leaves_at_us=leaves),
    )
