"""A run of the real server, recorded, and its replay: the same messages, the same bytes to the clients."""

from __future__ import annotations

import asyncio
import json
import signal
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from minisgl_tutor.recording import HopLine, Recording, SubmitLine, read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import Play, play

LONG = 120
"""Tokens of a request whose client leaves: more than it can wait for."""

Messages = dict[tuple[int, str], list[dict[str, Any]]]

SERVE = ["-m", "minisgl_tutor", "serve", "--port", "0", "--threads", "1", "--record-messages"]


def body(i: int, **more: Any) -> dict[str, Any]:
    return {
        "model": "minisgl-tutor",
        "messages": [{"role": "user", "content": f"What is a KV cache? ({i})"}],
        "max_tokens": 8 + 3 * i,
        "ignore_eos": True,
        "temperature": 0.8 * (i % 2),
        **more,
    }


WISHES: dict[int, dict[str, Any]] = {4: {"stop": ["e", "的"]}, 7: {"stop": "no such text"}, 15: {"n": 2}}
"""What some of those who stay ask for besides."""


async def stays(client: httpx.AsyncClient, i: int) -> bytes:
    question = body(i, stream=bool(i % 3), **WISHES.get(i, {}))
    answer = await client.post("/v1/chat/completions", json=question)
    assert answer.status_code == 200
    return answer.content


async def leaves(client: httpx.AsyncClient, i: int) -> bytes:
    """Two chunks of a stream, or a moment's wait for a whole answer, and away."""
    read = b""
    if i % 2:
        question = body(i, max_tokens=LONG, stream=True)
        request = client.build_request("POST", "/v1/chat/completions", json=question)
        answer = await client.send(request, stream=True)
        async for chunk in answer.aiter_raw():
            read += chunk
            if read.count(b"\n\n") >= 2:
                break
        await answer.aclose()
    else:
        with pytest.raises(httpx.ReadTimeout):
            await client.post("/v1/chat/completions", json=body(i, max_tokens=LONG), timeout=0.1)
    return read


async def clients(url: str) -> dict[int, bytes]:
    """Sixteen at once, five of which leave. Bytes by the number in the question."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as client:
        acts = [leaves if i % 3 == 0 and i < 15 else stays for i in range(16)]
        got = await asyncio.gather(*[act(client, i) for i, act in enumerate(acts)])
        # It runs longer than what the others left running, so that the server is stopped when all is over.
        await client.post("/v1/chat/completions", json=body(16, max_tokens=LONG + 40))
    return dict(enumerate(got))


def by_request(result: Play) -> Messages:
    messages: Messages = defaultdict(list)
    for step in result.steps:
        if step.kind == "message":
            for message in step.content:
                messages[message["uid"], step.target].append(json.loads(json.dumps(message)))
    return messages


def recorded_messages(recording: Recording) -> Messages:
    messages: Messages = defaultdict(list)
    for line in recording.lines:
        if isinstance(line, HopLine):
            messages[line.message["uid"], line.receiver].append(line.message)
    return messages


@pytest.mark.parametrize("options", [(), ("--no-overlap", "--num-tokenizer", "2"), ("--gap", "reference")])
def test_a_recorded_run_replays_as_it_was(
    start_server: Callable[..., Any], tmp_path: Path, options: tuple[str, ...]
) -> None:
    file = tmp_path / "run.jsonl"
    server = start_server(*SERVE, "--record", str(file), "--step-ms", "4", *options).wait_ready()
    got = asyncio.run(clients(server.url))
    server.signal(signal.SIGTERM)
    assert server.wait_end() == 0
    recording = read_recording(file)

    result = play(recording, load_tokenizer(model_dir()), recording.header.gaps)

    submits = sorted((line.uid, line.rid) for line in recording.lines if isinstance(line, SubmitLine))
    uids = {rid: uid for uid, rid in reversed(submits)}  # of several choices, the first
    assert result.uids == uids and len(submits) == len(uids) + 1
    assert by_request(result) == recorded_messages(recording)
    numbers = {rid: int(exchange_number(recording, rid)) for rid in uids}
    for rid, exchange in result.exchanges.items():
        number = numbers[rid]
        if got.get(number) and exchange.body != got[number]:
            assert exchange.body.startswith(got[number]) and number % 3 == 0


def exchange_number(recording: Recording, rid: int) -> str:
    (request,) = [
        line for line in recording.lines if getattr(line, "rid", None) == rid and hasattr(line, "body")
    ]
    return request.body.rpartition("(")[2].partition(")")[0]
