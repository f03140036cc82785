#!/usr/bin/env python3
"""Records a server under load and replays it: every message, and every byte to a client, must be there again.

    .venv/bin/python scripts/replay_load.py [--clients 64] [--leave 20] [--keep FILE] [-- SERVE OPTIONS]

It starts `minisgl-tutor serve --record FILE --record-messages` with the options behind `--`, lets so many
clients ask at once, some of which leave (half of them two events into a stream, half while they wait for a
whole answer), stops the server, replays the recording in this process, and counts what differs: uids,
messages by request and receiver, and bytes by client (of one that left, what it had read must be the
beginning of what it is sent). On a machine with a GPU, for instance:

    python3 scripts/replay_load.py --keep gpu.jsonl -- --device cuda --dummy-weight --model DIR
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import httpx

from minisgl_tutor.recording import HopLine, Recording, RequestLine, SubmitLine, TokensLine, read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import Play, play
from minisgl_tutor.trace.wall import recorded_clock

LONG = 400
"""Tokens of a request whose client leaves."""

Messages = dict[tuple[int, str], list[dict[str, Any]]]


class Clients:
    """``count`` at once, of which ``leave`` do not stay; what each read is in ``got``, by its number."""

    def __init__(self, url: str, model: str, count: int, leave: int) -> None:
        self.got: dict[int, bytes] = {}
        self._url = url
        self._model = model
        self._count = count
        self.leavers = {i * count // leave for i in range(leave)} if leave else set()

    async def run(self) -> None:
        limits = httpx.Limits(max_connections=None)
        async with httpx.AsyncClient(base_url=self._url, timeout=600, limits=limits) as client:
            acts = [self._leave if i in self.leavers else self._stay for i in range(self._count)]
            got = await asyncio.gather(*[act(client, i) for i, act in enumerate(acts)])
            self.got = dict(enumerate(got))
            # It runs longer than what the others left running: the server is stopped when all is over.
            await client.post("/v1/chat/completions", json=self._body(self._count, max_tokens=64))

    def _body(self, i: int, **more: Any) -> dict[str, Any]:
        return {
            "model": self._model,
            "messages": [{"role": "user", "content": f"What is a KV cache? ({i})"}],
            "max_tokens": 8 + 3 * (i % 24),
            "ignore_eos": True,
            "temperature": 0.8 * (i % 2),
            **more,
        }

    async def _stay(self, client: httpx.AsyncClient, i: int) -> bytes:
        answer = await client.post("/v1/chat/completions", json=self._body(i, stream=bool(i % 3)))
        answer.raise_for_status()
        return answer.content

    async def _leave(self, client: httpx.AsyncClient, i: int) -> bytes:
        read = b""
        if i % 2:
            question = self._body(i, max_tokens=LONG, stream=True)
            request = client.build_request("POST", "/v1/chat/completions", json=question)
            answer = await client.send(request, stream=True)
            async for chunk in answer.aiter_raw():
                read += chunk
                if read.count(b"\n\n") >= 2:
                    break
            await answer.aclose()
            return read
        try:
            question = self._body(i, max_tokens=LONG)
            return (await client.post("/v1/chat/completions", json=question, timeout=0.1)).content
        except httpx.ReadTimeout:
            return read


def record(file: Path, clients: int, leave: int, options: list[str]) -> Clients:
    """Serves the clients, and stops."""
    words = [sys.executable, "-m", "minisgl_tutor", "serve", "--port", "0", "--record", str(file)]
    words += ["--record-messages", *options]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        ready = next((line for line in server.stdout if re.search(r"http://\S+:\d+", line)), "")
        found = re.search(r"http://[\w.]+:\d+", ready)
        if found is None:
            raise SystemExit("the server did not start")
        model = httpx.get(f"{found[0]}/v1/models").json()["data"][0]["id"]
        load = Clients(found[0], model, clients, leave)
        asyncio.run(load.run())
    finally:
        server.send_signal(signal.SIGTERM)
        server.communicate()
    return load


def replayed_messages(result: Play) -> Messages:
    messages: Messages = defaultdict(list)
    for step in result.steps:
        for message in step.content if step.kind == "message" else ():
            messages[message["uid"], step.target].append(json.loads(json.dumps(message)))
    return messages


def recorded_messages(recording: Recording) -> Messages:
    messages: Messages = defaultdict(list)
    for line in recording.lines:
        if isinstance(line, HopLine):
            messages[line.message["uid"], line.receiver].append(line.message)
    return messages


def differences(recording: Recording, result: Play, load: Clients) -> dict[str, int]:
    """How many uids, messages and clients differ."""
    uids: dict[int, int] = {}
    for line in recording.lines:
        if isinstance(line, SubmitLine):
            uids[line.rid] = min(line.uid, uids.get(line.rid, line.uid))
    recorded, replayed = recorded_messages(recording), replayed_messages(result)
    messages = 0
    for key in recorded.keys() | replayed.keys():
        ours, theirs = replayed.get(key, []), recorded.get(key, [])
        messages += abs(len(ours) - len(theirs)) + sum(a != b for a, b in zip(ours, theirs, strict=False))
    wrong_clients = 0
    for request in recording.lines:
        if isinstance(request, RequestLine) and request.rid in result.exchanges:
            number = int(request.body.rpartition("(")[2].partition(")")[0])
            got, body = load.got.get(number), result.exchanges[request.rid].body
            same = body.startswith(got) if got is not None and number in load.leavers else body == got
            wrong_clients += got is not None and not same
    changed = sum(uids.get(rid) != result.uids.get(rid) for rid in uids.keys() | result.uids.keys())
    return {"uids": changed, "messages": messages, "clients": wrong_clients}


def main() -> int:
    given, options = sys.argv[1:], []
    if "--" in given:
        place = given.index("--")
        given, options = given[:place], given[place + 1 :]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--leave", type=int, default=20)
    parser.add_argument("--keep", type=Path, help="where the recording stays")
    parser.add_argument("--json", type=Path, help="file for the result")
    chosen = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        file = chosen.keep or Path(folder) / "run.jsonl"
        load = record(file, chosen.clients, chosen.leave, options)
        recording = read_recording(file)
        size = file.stat().st_size
    model = recording.header.model
    directory = model_dir() if model is None else Path(model)
    tokenizer = load_tokenizer(directory, recorded_clock(recording))
    begin = time.perf_counter()
    result = play(recording, tokenizer, recording.header.gaps)
    seconds = time.perf_counter() - begin
    report = {
        "python": platform.python_version(),
        "options": options,
        "clients": chosen.clients,
        "leave": chosen.leave,
        "engine_steps": sum(isinstance(line, TokensLine) for line in recording.lines),
        "messages": sum(isinstance(line, HopLine) for line in recording.lines),
        "recording_bytes": size,
        "steps": len(result.steps),
        "replay_s": round(seconds, 2),
        "findings": len(result.findings),
        "beyond": sum(result.beyond.values()),
        "differences": differences(recording, result, load),
    }
    print(json.dumps(report, indent=2))
    if chosen.json is not None:
        chosen.json.write_text(json.dumps(report, indent=2) + "\n")
    return int(any(report["differences"].values()))


if __name__ == "__main__":
    raise SystemExit(main())
