#!/usr/bin/env python3
"""Records the scenes of chapters and gaps from the real server with the shipped model.

    .venv/bin/python scripts/record_scenes.py [SCENE ...]

Each scene is a run of `minisgl-tutor serve --record`, slowed down with `--step-ms`
so that a reader can tell the tokens apart, with clients on real sockets. Chapter 5
is recorded with the reference's gaps on: only then does the engine make the tokens
that the gaps let it make. What a server cannot see is added to the recording here:
its title, and how slowly a client reads (`PaceLine`; the kernel's buffers, which
would hide it in a scene this short, are left out). Scenes of gaps that hinge on a
moment within a step cannot be recorded; `write_gap_scenes.py` writes those.
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
GAPS = ROOT / "chapters" / "gaps" / "scenes"
STEP_MS = 25


class Client:
    """A raw HTTP client for one request."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def send(self, content: str, *, stream: bool, max_tokens: int, **more: object) -> None:
        messages = [{"role": "user", "content": content}]
        body = {"messages": messages, "max_tokens": max_tokens, "stream": stream, **more}
        await self.post("/v1/chat/completions", body)

    async def post(self, path: str, body: dict[str, object]) -> None:
        data = json.dumps({"model": "minisgl-tutor", **body}, ensure_ascii=False).encode()
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
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

    @property
    def name(self) -> str:
        """Without the number that it has in a chapter."""
        stem = self.path.stem
        return stem if self.path.parent == GAPS else stem.partition("-")[2]


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


async def good_wishes(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("再见", stream=True, max_tokens=4)
    await one.to_the_end()


async def cut_within_a_character(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("再见", stream=True, max_tokens=2)
    await one.to_the_end()


async def stop_string(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("What is a KV cache?", stream=True, max_tokens=16, stop=[" keeps the"])
    await one.to_the_end()


async def length_limit(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("What is a KV cache?", stream=True, max_tokens=8)
    await one.to_the_end()


async def four_at_once(client: Callable[[], Client]) -> None:
    four = [client() for _ in range(4)]
    for one in four:
        await one.send("What is a KV cache?", stream=True, max_tokens=6)
    await asyncio.gather(*(one.to_the_end() for one in four))


async def empty_prompt(client: Callable[[], Client]) -> None:
    bad, good = client(), client()
    await bad.post("/v1/completions", {"prompt": ""})
    await bad.to_the_end()
    await good.send("再见", stream=True, max_tokens=4)
    await good.to_the_end()


async def client_leaves_soon(client: Callable[[], Client]) -> None:
    one = client()
    await one.send("What is a KV cache?", stream=True, max_tokens=12)
    await one.events(4)
    await one.leave()
    await asyncio.sleep(0.6)


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
    Plan(GAPS / "token-by-token.jsonl", "Characters that take several tokens", good_wishes),
    Plan(GAPS / "lost-tail.jsonl", "An answer is cut within a character", cut_within_a_character),
    Plan(GAPS / "leaked-stop.jsonl", "A stop string that takes several tokens", stop_string),
    Plan(GAPS / "early-length.jsonl", "An answer that ends by its length", length_limit),
    Plan(GAPS / "unordered-running.jsonl", "Four requests run at once", four_at_once),
    Plan(GAPS / "fragile-worker.jsonl", "An empty prompt, and then a good one", empty_prompt),
    Plan(
        GAPS / "forget-first.jsonl",
        "A client leaves, and its state is gone before anybody is told",
        client_leaves_soon,
        ["--gap", "forget-first"],
    ),
]


def record(plan: Plan) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    gaps = ["--gap", "reference"] if plan.path.parent == CHAPTER_5 else []
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
        if not wanted or plan.name in wanted:
            record(plan)


if __name__ == "__main__":
    main()
