#!/usr/bin/env python3
"""Records the scenes of the chapters from the real server with the shipped model.

    .venv/bin/python scripts/record_scenes.py [SCENE ...]

Each scene is a run of `minisgl-tutor serve --record`, slowed down with `--step-ms`
so that a reader can tell the tokens apart, with clients on real sockets. Chapter 5
is recorded with the reference's gaps on: only then does the engine make the tokens
that the gaps let it make. What a server cannot see is added to the recording here:
its title, and how slowly a client reads (`PaceLine`; the kernel's buffers, which
would hide it in a scene this short, are left out).
"""

from __future__ import annotations

import asyncio
import json
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from minisgl_tutor.recording import PaceLine, Recording, SubmitLine, read_recording

ROOT = Path(__file__).resolve().parent.parent
CHAPTER_2 = ROOT / "chapters" / "02-request-journey" / "scenes"
CHAPTER_5 = ROOT / "chapters" / "05-http-service" / "scenes"
STEP_MS = 25


class Client:
    """A raw HTTP client for one request."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def send(self, content: str, *, stream: bool, max_tokens: int) -> None:
        body = {
            "model": "minisgl-tutor",
            "messages": [{"role": "user", "content": content}],
            "max_tokens": max_tokens,
            "stream": stream,
        }
        data = json.dumps(body, ensure_ascii=False).encode()
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = (
            "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self.writer.write(head.encode() + data)
        await self.writer.drain()

    async def events(self, count: int) -> None:
        for _ in range(count):
            await self.reader.readuntil(b"data: ")
            await self.reader.readuntil(b"\n\n")

    async def to_the_end(self) -> None:
        await self.reader.read()
        await self.leave()

    async def leave(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()


Act = Callable[[Callable[[], Client]], Awaitable[None]]


@dataclass(frozen=True)
class Plan:
    """A scene: the file it goes to, what its clients do, and what the server is started with."""

    path: Path
    title: str
    act: Act
    options: list[str] = field(default_factory=list)
    paces: list[PaceLine] = field(default_factory=list)


async def normal_end(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("Goodbye", stream=True, max_tokens=64)
    await one.to_the_end()


async def interleaved(client: Callable[[], Client]) -> None:
    """Text comes as A1 B1 B2 A2: the second token of A's answer is but the first half of a character."""
    a, b = client(), client()
    await a.send("再见", stream=True, max_tokens=4)
    await asyncio.sleep(0.005)
    await b.send("What is a KV cache?", stream=True, max_tokens=2)
    await asyncio.gather(a.to_the_end(), b.to_the_end())


async def client_leaves(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("What is a KV cache?", stream=True, max_tokens=64)
    await one.events(4)
    await one.leave()
    await asyncio.sleep(0.6)


async def non_streaming_client_leaves(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("What is a KV cache?", stream=False, max_tokens=8)
    await asyncio.sleep(3 * STEP_MS / 1000)
    await one.leave()
    await asyncio.sleep(0.6)


async def over_long_prompt(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("long " * 300, stream=True, max_tokens=8)


async def slow_reader(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("What is a KV cache?", stream=True, max_tokens=14)
    await one.to_the_end()


async def journey(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("什么是 KV Cache？", stream=True, max_tokens=128)
    await one.to_the_end()


PLANS = [
    Plan(CHAPTER_5 / "01-normal-end.jsonl", "A stream that ends normally", normal_end),
    Plan(
        CHAPTER_5 / "02-interleaved.jsonl",
        "Two streams share one return channel",
        interleaved,
        ["--no-overlap"],
    ),
    Plan(CHAPTER_5 / "03-client-leaves.jsonl", "A client leaves in mid-stream", client_leaves),
    Plan(
        CHAPTER_5 / "04-non-streaming-client-leaves.jsonl",
        "A client leaves that waits for its whole answer",
        non_streaming_client_leaves,
    ),
    Plan(
        CHAPTER_5 / "05-over-long-prompt.jsonl",
        "A prompt that is longer than the model allows",
        over_long_prompt,
        ["--max-seq-len", "256"],
    ),
    Plan(
        CHAPTER_5 / "06-slow-reader.jsonl",
        "A client that reads more slowly than the model writes",
        slow_reader,
        ["--backlog-limit", "4"],
        [PaceLine(0, 0, chunk_us=4 * STEP_MS * 1000, buffer=1)],
    ),
    Plan(CHAPTER_2 / "01-journey.jsonl", "The journey of one request", journey),
]


def record(plan: Plan) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    gaps = [] if plan.path.parent == CHAPTER_2 else ["--gap", "reference"]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "recording.jsonl"
        command = [sys.executable, "-m", "minisgl_tutor", "serve", "--port", str(port)]
        command += ["--admission", "reserve"]
        command += ["--record", str(file), "--step-ms", str(STEP_MS), *gaps, *plan.options]
        server = subprocess.Popen(command, cwd=folder)
        try:
            asyncio.run(_act(plan, port, server))
        finally:
            server.kill()
            server.wait()
        recording = read_recording(file)
    _write(plan, recording)
    print(f"{plan.path.relative_to(ROOT)}: {len(recording.lines)} lines")


async def _act(plan: Plan, port: int, server: subprocess.Popen[bytes]) -> None:
    """Plays the clients and ends the server, before clients that still wait are dropped."""
    for _ in range(600):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.1)
        else:
            writer.close()
            break
    clients: list[Client] = []  # a client that is not kept would be collected, and so leave

    def new_client() -> Client:
        clients.append(Client(port))
        return clients[-1]

    await plan.act(new_client)
    await asyncio.sleep(0.3)
    server.send_signal(signal.SIGTERM)
    await asyncio.to_thread(server.wait, 30)


def _write(plan: Plan, recording: Recording) -> None:
    """Begins just before the first request, and says what the server could not see."""
    start = min(line.t for line in recording.lines if isinstance(line, SubmitLine)) - 1000
    lines = [msgspec.structs.replace(line, t=max(0, line.t - start)) for line in recording.lines]
    header = msgspec.structs.replace(recording.header, title=plan.title)
    plan.path.parent.mkdir(parents=True, exist_ok=True)
    Recording(header, [*plan.paces, *lines]).write(plan.path)


def main() -> None:
    wanted = set(sys.argv[1:])
    for plan in PLANS:
        if not wanted or plan.path.stem.partition("-")[2] in wanted:
            record(plan)


if __name__ == "__main__":
    main()
