"""Operations on real processes and sockets: an orderly end, workers that hang, clients that stand still."""

from __future__ import annotations

import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

FAKE_SERVER = str(Path(__file__).with_name("fake_server.py"))

Start = Callable[..., Any]


@pytest.fixture
def start_fake(start_server: Start) -> Start:
    def start(*settings: str) -> Any:
        return start_server(FAKE_SERVER, "0", "1", *settings).wait_ready()

    return start


def health(server: Any) -> httpx.Response:
    return httpx.get(f"{server.url}/health", trust_env=False, timeout=30)


def connect(server: Any) -> socket.socket:
    host, _, port = server.url.removeprefix("http://").rpartition(":")
    client = socket.create_connection((host, int(port)))
    client.settimeout(30)
    return client


def test_case_f3_after_sigterm_what_runs_comes_to_its_end_and_nothing_new_is_taken(start_fake: Start) -> None:
    server = start_fake("shutdown_timeout=30")
    running = server.stream("200")
    server.signal(signal.SIGTERM)
    refused = server.ask("1")
    while refused.status_code == 200:  # the signal is still on its way
        refused = server.ask("1")
    assert refused.status_code == 503 and refused.headers["retry-after"] == "1"
    assert refused.json()["error"]["message"] == "the server is stopping"
    assert health(server).json()["workers"]["minisgl-api-server"] == "is stopping"
    events = running.rest()
    assert events[-1] == "data: [DONE]"
    assert json.loads(events[-2].removeprefix("data: "))["choices"][0]["finish_reason"] == "stop"
    assert server.wait_end() == 0


def test_case_f3_what_does_not_end_in_time_gets_an_error_event(start_fake: Start) -> None:
    server = start_fake("shutdown_timeout=0.5")
    endless = server.stream()
    server.signal(signal.SIGTERM)
    assert "stopping" in json.loads(endless.rest()[-1].removeprefix("data: "))["error"]["message"]
    assert server.wait_end() == 0


def test_a_second_signal_does_not_wait(start_fake: Start, until: Start) -> None:
    server = start_fake("shutdown_timeout=3600")
    endless = server.stream()
    server.signal(signal.SIGTERM)
    until(lambda: health(server).status_code == 503, "no more requests are taken")
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 128 + signal.SIGTERM
    endless.leave()


def test_a_sigterm_to_every_process_is_no_death_and_is_not_waited_for(start_fake: Start) -> None:
    server = start_fake("shutdown_timeout=3600")
    endless = server.stream()
    os.killpg(server.process.pid, signal.SIGTERM)
    assert "stopping" in endless.rest()[-1]
    assert server.wait_end() == 0


def test_case_f1_a_worker_that_is_stopped_is_named_by_health_and_forgiven(
    start_fake: Start, until: Start
) -> None:
    server = start_fake("hung_after=2")
    worker = server.worker("minisgl-detokenizer-0")
    worker.suspend()
    until(lambda: health(server).status_code == 503, "the silence is noticed")
    workers = health(server).json()["workers"]
    assert "no sign of life" in workers.pop("minisgl-detokenizer-0")
    assert set(workers.values()) == {"ok"}
    worker.resume()
    until(lambda: health(server).status_code == 200, "it is forgiven")
    worker.suspend()
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0  # it is killed


def test_case_f5_a_client_that_reads_no_more_is_cut_off_and_nothing_of_it_stays(
    start_fake: Start, until: Start
) -> None:
    server = start_fake("write_timeout=1")
    body = json.dumps({"model": "x", "prompt": "flood", "stream": True})
    with connect(server) as client:
        client.sendall(
            f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        assert client.recv(100)
        assert health(server).json()["requests"] == 1
        until(lambda: health(server).json()["requests"] == 0, "the request is dropped")
    assert "took nothing" in server.log
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0


def test_connections_without_a_request_are_closed(start_fake: Start) -> None:
    server = start_fake("idle_timeout=1")
    with connect(server) as silent, connect(server) as half:
        half.sendall(b"POST /v1/completions HTTP/1.1\r\nHos")
        assert silent.recv(1) == b"" and half.recv(1) == b""
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0


def test_case_f7_a_body_that_does_not_come_is_answered(start_fake: Start) -> None:
    server = start_fake("body_timeout=0.5")
    with connect(server) as client:
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{")
        assert client.recv(4096).startswith(b"HTTP/1.1 408 ")
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0
