"""Start, supervision and end of a server's processes, with workers that only talk (claims part A)."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

FAKE_SERVER = str(Path(__file__).with_name("fake_server.py"))
WORKERS = ["minisgl-TP0-scheduler", "minisgl-detokenizer-0", "minisgl-tokenizer-0"]

Start = Callable[..., Any]


@pytest.fixture
def start_fake(start_server: Start) -> Start:
    def start(*faults: str, port: int = 0, tokenizers: int = 1) -> Any:
        return start_server(FAKE_SERVER, str(port), str(tokenizers), *faults)

    return start


def error_of(event: str) -> str:
    """The message of an error event."""
    message: str = json.loads(event.removeprefix("data: "))["error"]["message"]
    return message


def port_of(server: Any) -> int:
    return int(server.url.rpartition(":")[2])


def refuses(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) != 0


def test_ready_server_answers_at_once_under_the_names_that_ps_shows(start_fake: Start) -> None:
    """(C2.4 to C2.9, C2.12, C2.19, C2.20)"""
    server = start_fake(tokenizers=2).wait_ready()
    answer = server.ask("2")
    assert answer.json()["choices"][0]["text"] == "word word "
    shown = subprocess.run(
        ["ps", "-A", "-o", "args="], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    for name in ("minisgl-api-server", *WORKERS, "minisgl-tokenizer-1"):
        assert name in [line.strip() for line in shown]
    assert server.log.count(" is ready") == len(WORKERS) + 1
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0


def test_sockets_lie_in_a_directory_that_only_this_user_can_enter(start_fake: Start) -> None:
    server = start_fake().wait_ready()
    (directory,) = server.directory.iterdir()
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {"frontend", "tokenizer-0"} <= {file.name for file in directory.iterdir()}


def test_case_f3_a_signal_ends_open_streams_with_an_error_event(start_fake: Start) -> None:
    server = start_fake().wait_ready()
    streams = [server.stream() for _ in range(3)]
    server.signal(signal.SIGINT)
    for stream in streams:
        assert "stopping" in error_of(stream.rest()[-1])
    assert server.wait_end() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP, signal.SIGTERM])
def test_a_signal_to_every_process_is_a_stop_and_not_a_death(
    start_fake: Start, number: signal.Signals
) -> None:
    """As a terminal sends Ctrl+C and its own end, and a service manager SIGTERM."""
    server = start_fake().wait_ready()
    stream = server.stream()
    os.killpg(server.process.pid, number)
    assert "stopping" in error_of(stream.rest()[-1])
    assert server.wait_end() == 0
    assert "Traceback" not in server.log


def test_a_client_that_never_reads_does_not_hold_up_the_end(start_fake: Start) -> None:
    server = start_fake().wait_ready()
    body = json.dumps({"model": "x", "prompt": "flood", "stream": True})
    with socket.create_connection(("127.0.0.1", port_of(server))) as client:
        client.sendall(
            f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n{body}".encode()
        )
        assert client.recv(4096)
        server.signal(signal.SIGTERM)
        assert server.wait_end() == 0
        assert "timeout graceful shutdown exceeded" in server.log


def test_a_second_signal_ends_at_once_and_cleanly(start_fake: Start, until: Start) -> None:
    server = start_fake("minisgl-tokenizer-0=deaf", "grace=3600").wait_ready()
    with socket.create_connection(("127.0.0.1", port_of(server))) as client:
        # Half a request: the server would wait for the rest of it.
        client.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
        httpx.get(f"{server.url}/health", trust_env=False)
        server.signal(signal.SIGINT)
        until(lambda: refuses(port_of(server)), "the port is closed")
        server.signal(signal.SIGINT)
        assert server.wait_end() == 128 + signal.SIGINT


@pytest.mark.parametrize("name", WORKERS)
def test_case_f1_the_death_of_a_worker_reaches_every_client_and_ends_the_server(
    start_fake: Start, name: str
) -> None:
    server = start_fake().wait_ready()
    streams = [server.stream() for _ in range(3)]
    server.worker(name).kill()
    for stream in streams:
        assert f"{name} was ended by SIGKILL" in error_of(stream.rest()[-1])
    assert server.wait_end() == 1
    assert f"{name} was ended by SIGKILL" in server.log


def test_a_worker_that_raises_is_a_dead_worker(start_fake: Start) -> None:
    server = start_fake("minisgl-tokenizer-0=crashes").wait_ready()
    answer = server.ask("2")
    assert answer.status_code == 503
    assert "minisgl-tokenizer-0 ended with status 1" in answer.json()["error"]["message"]
    assert server.wait_end() == 1
    assert "ValueError: a fake fault" in server.log


def test_a_worker_that_ignores_sigterm_is_killed(start_fake: Start) -> None:
    server = start_fake("minisgl-detokenizer-0=deaf").wait_ready()
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0
    assert "minisgl-detokenizer-0 did not end" in server.log


def test_case_f2_kill_9_of_the_parent_takes_everything_with_it(start_fake: Start) -> None:
    server = start_fake(tokenizers=2).wait_ready()
    stream = server.stream()
    server.parent.kill()
    with pytest.raises(httpx.HTTPError):
        stream.rest()
    assert server.wait_end() == -signal.SIGKILL


def test_case_f2_kill_9_of_a_parent_that_is_still_starting(start_fake: Start, until: Start) -> None:
    server = start_fake("minisgl-TP0-scheduler=hangs")
    until(lambda: "minisgl-tokenizer-0 is ready" in server.log, "the other workers are ready")
    server.family()
    server.parent.kill()
    assert server.wait_end() == -signal.SIGKILL


@pytest.mark.parametrize(
    "fault, sentence",
    [
        ("minisgl-TP0-scheduler=fails", "the model is made of cheese; give another"),
        ("minisgl-detokenizer-0=breaks", "minisgl-detokenizer-0: ValueError: a fake fault"),
        ("minisgl-tokenizer-0=dies", "minisgl-tokenizer-0 ended with status 3 before it was ready"),
    ],
)
def test_a_worker_that_cannot_start_is_one_sentence(start_fake: Start, fault: str, sentence: str) -> None:
    server = start_fake(fault)
    assert server.wait_end() == 1
    assert server.log.splitlines()[-1] == f"Error: {sentence}"
    assert "Traceback" not in server.log


def test_a_ready_worker_that_dies_while_another_starts(start_fake: Start, until: Start) -> None:
    server = start_fake("minisgl-TP0-scheduler=hangs")
    until(lambda: "minisgl-tokenizer-0 is ready" in server.log, "the other workers are ready")
    server.worker("minisgl-tokenizer-0").kill()
    assert server.wait_end() == 1
    assert "minisgl-tokenizer-0 was ended by SIGKILL while the server was starting" in server.log


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_case_f2_the_port_stays_closed_until_all_are_ready_and_a_signal_ends_the_wait(
    start_fake: Start, until: Start, number: signal.Signals
) -> None:
    """(C2.17, C2.18)"""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = start_fake("minisgl-TP0-scheduler=hangs", port=port)
    until(lambda: "minisgl-tokenizer-0 is ready" in server.log, "the other workers are ready")
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False)
    server.family()
    server.signal(number)
    assert server.wait_end() == 128 + number


def test_case_f2_a_taken_port_is_told_before_anything_is_loaded(start_fake: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = start_fake(port=port)
        assert server.wait_end() == 1
    assert f"port {port} on 127.0.0.1 is taken by another process" in server.log
    assert f"--port {port + 1}" in server.log
    assert "starting" not in server.log


def test_two_servers_side_by_side(start_fake: Start) -> None:
    one, two = start_fake(), start_fake()
    one.wait_ready()
    two.wait_ready()
    stream = two.stream()
    one.signal(signal.SIGTERM)
    assert one.wait_end() == 0
    answer = two.ask("1")
    assert answer.json()["choices"][0]["text"] == "word "
    two.signal(signal.SIGTERM)
    assert "stopping" in error_of(stream.rest()[-1])
    assert two.wait_end() == 0


def test_processes_use_no_sockets_but_their_own(start_fake: Start) -> None:
    """The API server listens on its one port, the workers on none."""
    server = start_fake().wait_ready()
    listening = {
        process.pid: [c.laddr.port for c in process.net_connections("tcp") if c.status == psutil.CONN_LISTEN]
        for process in server.family()
    }
    assert listening.pop(server.parent.pid) == [port_of(server)]
    assert not any(listening.values())
