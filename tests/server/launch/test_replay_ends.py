"""Ends that a real server makes of its own accord, recorded, and their replays."""

from __future__ import annotations

import json
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from minisgl_tutor.recording import CutLine, RefuseLine, SubmitLine, read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import play
from minisgl_tutor.trace.redacted import stand_in_tokenizer

from .conftest import poll
from .test_replay import SERVE, by_request, recorded_messages

LONG = {"max_tokens": 900, "ignore_eos": True, "stream": True}


def slow_reader(url: str, body: dict[str, Any]) -> socket.socket:
    """Asks, and never reads. Of a client with small segments, the server's kernel keeps little, too."""
    place = urlsplit(url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 200)
    connection.connect((place.hostname, place.port))
    text = json.dumps(body).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(text)}\r\n"
    connection.sendall(f"{head}Content-Type: application/json\r\n\r\n".encode() + text)
    return connection


def cuts_in(file: Path) -> list[CutLine]:
    return [line for line in read_recording(file).lines if isinstance(line, CutLine)]


def test_a_slow_reader_is_ended_in_a_replay_as_it_was(
    start_server: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "run.jsonl"
    options = ("--step-ms", "2", "--backlog-limit", "20")
    server = start_server(*SERVE, "--record", str(file), *options).wait_ready()
    body = {"model": "m", "prompt": "for ever", **LONG}
    with slow_reader(server.url, body):
        beside = server.ask("What is a KV cache?", max_tokens=8)
        poll(lambda: cuts_in(file), "the end of the slow reader")
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0
    recording = read_recording(file)
    (cut,) = cuts_in(file)
    assert cut.code == "slow_reader" and cut.unread == 21

    result = play(recording, load_tokenizer(model_dir()))

    assert by_request(result) == recorded_messages(recording)
    assert not result.findings and not any(result.held.values())
    (other,) = [exchange for rid, exchange in result.exchanges.items() if result.uids[rid] != cut.uid]
    assert other.body == beside.content


REFUSALS: list[tuple[str, dict[str, Any]]] = [
    ("chat/completions", {"messages": [{"role": "assistant", "content": "secret"}]}),
    ("chat/completions", {"messages": [{"role": "assistant", "content": "secret"}], "n": 2, "stream": True}),
    ("completions", {"prompt": ["secret", ""]}),
    ("completions", {"prompt": "secret", "suffix": "secret"}),
    ("completions", {"prompt": "secret" * 2000}),
    ("secret", {"prompt": "secret"}),
]
"""By the chat template, the tokenizer, the API process, the scheduler, and where there is no such path."""


def refusing_model(folder: Path) -> Path:
    """The shipped model, with a template that takes only what a user said last."""
    shutil.copytree(model_dir(), folder)
    file = folder / "tokenizer_config.json"
    config = json.loads(file.read_text())
    check = "{%- if messages[-1]['role'] != 'user' -%}{{ raise_exception('no question') }}{%- endif -%}"
    file.write_text(json.dumps({**config, "chat_template": check + config["chat_template"]}))
    return folder


@pytest.mark.parametrize("options", [(), ("--redact",)])
def test_what_was_refused_is_refused_in_a_replay(
    start_server: Callable[..., Any], tmp_path: Path, options: tuple[str, ...]
) -> None:
    file, model = tmp_path / "run.jsonl", refusing_model(tmp_path / "model")
    serve = [each for each in SERVE if each != "--record-messages"]
    server = start_server(*serve, "--record", str(file), "--model", str(model), *options).wait_ready()
    with httpx.Client(base_url=f"{server.url}/v1/", timeout=60, trust_env=False) as client:
        got = [client.post(path, json={"model": "m", **body}).status_code for path, body in REFUSALS]
    answered = server.ask("What is a KV cache?", max_tokens=8)
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0 and got == [400, 400, 400, 400, 400, 404] and answered.status_code == 200
    recording = read_recording(file)
    refused = {line.rid: line.status for line in recording.lines if isinstance(line, RefuseLine)}
    assert list(refused.values()) == got
    tokenizer = stand_in_tokenizer(recording.header) if options else load_tokenizer(model)

    result = play(recording, tokenizer)

    assert {rid: exchange.status for rid, exchange in result.exchanges.items()} == {**refused, len(got): 200}
    submits = sorted((line.uid, line.rid) for line in recording.lines if isinstance(line, SubmitLine))
    assert result.uids == {rid: uid for uid, rid in reversed(submits)}
    assert not result.findings and not result.beyond and not any(result.held.values())
    assert not options or b"secret" not in file.read_bytes()
