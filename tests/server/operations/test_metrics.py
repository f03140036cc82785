"""What Prometheus gets: parsed by its own client, right, and one app's own."""

from __future__ import annotations

import asyncio
import json
import os
from dataclasses import replace
from multiprocessing import Pipe

import pytest
from prometheus_client.parser import text_string_to_metric_families

from minisgl_tutor.message import SamplingParams, TokenizeMsg, Usage, UserReply
from minisgl_tutor.server.api_server import create_app
from minisgl_tutor.server.config import Limits, ServerArgs
from minisgl_tutor.server.operations.ledger import Ledger
from minisgl_tutor.server.operations.operations import LOOK_EVERY_S, Operations
from minisgl_tutor.server.operations.watch import Pulses
from minisgl_tutor.server.workers.pulse import Amount, Beat, framed
from minisgl_tutor.trace.asgi import AsgiClient, Exchange
from minisgl_tutor.trace.clock import run

ARGS = ServerArgs(model="some/model", limits=Limits(hung_after=10))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Server:
    """An app with everything around it, and one worker whose signs of life are made by hand."""

    def __init__(self, rig, args: ServerArgs = ARGS) -> None:
        self.clock = Clock()
        self.ledger = Ledger(self.clock)
        self.state = rig().state
        beats, self._pipe = Pipe(duplex=False)
        self.pulses = Pulses({"minisgl-TP0-scheduler": beats}, args.limits, self.clock)
        app = create_app(self.state, args.served_model, limits=args.limits)
        self.operations = Operations(args, self.state, app, app, self.ledger, self.pulses)
        self.client = AsgiClient(self.operations.asgi)

    def beat(self, beat: Beat) -> None:
        os.write(self._pipe.fileno(), framed(beat))

    async def get(self, path: str, **headers: str) -> Exchange:
        exchange = self.client.request("GET", path, headers=headers)
        await exchange.wait_app()
        return exchange

    async def metrics(self) -> dict[tuple[str, str], float]:
        page = await self.get("/metrics")
        assert page.status == 200 and page.headers["content-type"].startswith("text/plain; version=")
        found = {}
        for family in text_string_to_metric_families(page.body.decode()):
            for sample in family.samples:
                labels = {name: value for name, value in sample.labels.items() if name != "model_name"}
                assert sample.labels.get("model_name", "some/model") == "some/model"
                found[sample.name, ",".join(labels.values())] = sample.value
        return found


def test_the_page_has_the_fields_names_and_the_right_values(rig) -> None:
    async def main() -> None:
        it = Server(rig)
        for uid in range(3):
            it.ledger.sent("out", TokenizeMsg(uid, "x", SamplingParams()))
        it.clock.now = 0.2
        it.ledger.received("in", [UserReply(0, "a", False), UserReply(1, "a", False)])
        it.clock.now = 0.5
        it.ledger.received("in", [UserReply(0, "", True, "stop", Usage(10, 2, 4))])
        got = await it.metrics()
        expected = {
            ("num_requests_running", ""): 1,
            ("num_requests_waiting", ""): 1,
            ("prompt_tokens_total", ""): 10,
            ("generation_tokens_total", ""): 3,
            ("prefix_cache_queries_total", ""): 10,
            ("prefix_cache_hits_total", ""): 4,
            ("prefix_cache_hit_rate", ""): 0.4,
            ("time_to_first_token_seconds_bucket", "0.1"): 0,
            ("time_to_first_token_seconds_bucket", "0.25"): 2,
            ("time_to_first_token_seconds_bucket", "+Inf"): 2,
            ("time_to_first_token_seconds_count", ""): 2,
            ("time_to_first_token_seconds_sum", ""): 0.4,
            ("inter_token_latency_seconds_count", ""): 1,
            ("e2e_request_latency_seconds_sum", ""): 0.5,
            ("request_success_total", "stop"): 1,
            ("request_success_total", "abort"): 0,
            ("requests_refused_total", "too_many"): 0,
            ("requests_refused_total", "stopping"): 0,
            ("requests_expired_total", "first_token_timeout"): 0,
            ("requests_expired_total", "request_timeout"): 0,
            ("worker_up", "minisgl-TP0-scheduler"): 1,
        }
        assert {key: got[f"minisgl_tutor_{key[0]}", key[1]] for key in expected} == pytest.approx(expected)
        assert got["minisgl_tutor_process_resident_memory_bytes", ""] > 1 << 20

    run(main)


def test_every_state_map_is_a_line_and_a_leak_shows(rig) -> None:
    async def main() -> None:
        it = Server(rig)
        it.state.new_user()
        it.beat(Beat(0, {"pages": Amount(2, 7)}, {"kv_cache_usage_perc": 0.25, "num_preemptions": 3}))
        got = await it.metrics()
        of = "minisgl_tutor_held_requests"
        assert got[of, "minisgl-api-server,ack_map"] == got[of, "minisgl-api-server,event_map"] == 1
        assert got[of, "minisgl-TP0-scheduler,pages"] == 2
        assert got["minisgl_tutor_held_amount", "minisgl-TP0-scheduler,pages"] == 7
        assert got[of, "minisgl-TP0-scheduler,waiting"] == 0
        assert got["minisgl_tutor_kv_cache_usage_perc", "minisgl-TP0-scheduler"] == 0.25
        assert got["minisgl_tutor_num_preemptions_total", "minisgl-TP0-scheduler"] == 3

    run(main)


def test_two_apps_in_one_process_have_each_their_own_numbers(rig) -> None:
    async def main() -> None:
        one, other = Server(rig), Server(rig)
        one.ledger.ended["stop"] = 5
        name = ("minisgl_tutor_request_success_total", "stop")
        assert ((await one.metrics())[name], (await other.metrics())[name]) == (5, 0)

    run(main)


def test_health_names_the_worker_that_is_silent_and_forgives_it(rig) -> None:
    async def main() -> None:
        it = Server(rig)
        healthy = {"minisgl-api-server": "ok", "minisgl-TP0-scheduler": "ok"}
        page = await it.get("/health")
        assert (page.status, json.loads(page.body)["workers"]) == (200, healthy)
        it.clock.now = 12.0
        page = await it.get("/health")
        assert page.status == 503
        said = json.loads(page.body)
        assert said["status"] == "unavailable"
        assert said["error"]["message"] == "minisgl-TP0-scheduler has given no sign of life for 12 s"
        assert said["workers"]["minisgl-TP0-scheduler"] == "has given no sign of life for 12 s"
        assert (await it.metrics())["minisgl_tutor_worker_up", "minisgl-TP0-scheduler"] == 0
        it.beat(Beat())
        assert (await it.get("/health")).status == 200

    run(main)


def test_health_is_503_while_the_server_is_to_stop(rig) -> None:
    async def main() -> None:
        it = Server(rig)
        it.operations.admission.close("the server is stopping")
        page = await it.get("/health")
        assert page.status == 503 and b"minisgl-api-server is stopping" in page.body

    run(main)


def test_the_key_guards_the_metrics_and_cors_is_off_unless_asked_for(rig) -> None:
    async def main() -> None:
        locked = Server(rig, replace(ARGS, api_key="sk-1"))
        assert (await locked.get("/metrics")).status == 401
        assert (await locked.get("/health")).status == 200
        assert (await locked.get("/v1/models", authorization="Bearer sk-1")).status == 200
        closed = await locked.get("/health", origin="http://page")
        assert "access-control-allow-origin" not in closed.headers
        opened = Server(rig, replace(ARGS, api_key="sk-1", allow_origins=("http://page",)))
        allowed = await opened.get("/health", origin="http://page")
        assert allowed.headers["access-control-allow-origin"] == "http://page"
        foreign = await opened.get("/health", origin="http://elsewhere")
        assert "access-control-allow-origin" not in foreign.headers
        preflight = opened.client.request(
            "OPTIONS",
            "/v1/chat/completions",
            headers={
                "origin": "http://page",
                "access-control-request-method": "POST",
                "access-control-request-headers": "authorization,content-type",
            },
        )
        await asyncio.sleep(1)
        assert preflight.status == 200  # without the key, which a browser does not send yet

    run(main)


def test_a_look_that_fails_keeps_no_other_from_its_own(rig, caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> list[object]:
        raise RuntimeError("no list")

    async def main() -> None:
        it = Server(rig)
        looks = []
        it.operations.connections = fails
        it.operations.also_watched += [fails, lambda: looks.append(1)]
        it.beat(Beat(1.5))
        watching = asyncio.create_task(it.operations.watch())
        await asyncio.sleep(2.1 * LOOK_EVERY_S)
        watching.cancel()
        assert looks == [1, 1]
        assert it.pulses.beats["minisgl-TP0-scheduler"] == Beat(1.5)
        assert [record.exc_info is not None for record in caplog.records] == [True] * 4

    run(main)
