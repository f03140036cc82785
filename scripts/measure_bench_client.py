"""How many tokens a second can the client of `bench serve` take in, before it is itself what is measured?

    python scripts/measure_bench_client.py

A server in a process of its own sends ready-made chunks, one token each, to 64 streams in step, at a fixed
rate. The part of a core that the client needs for that says at which rate it would need a whole one. Most
chunks come in a read of their own, as they do from a model; a server that runs ahead of its client is
cheaper to read, as several come at once. The same with httpx shows why the client is not built on that.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import AsyncGenerator
from importlib.metadata import version
from multiprocessing.connection import Connection

import httpx

from minisgl_tutor.bench.asks import Shape, draw_asks
from minisgl_tutor.bench.http import HttpTransport
from minisgl_tutor.bench.load import Load, Transport

EVENT = (
    b'data: {"id":"chatcmpl-0123456789abcdef0123456789abcdef","object":"chat.completion.chunk",'
    b'"created":1764460800,"model":"m","choices":[{"index":0,"delta":{"content":" word"},'
    b'"finish_reason":null,"logprobs":null}]}\n\n'
)
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


class PacedServer:
    """Waits for as many requests as there are streams, and then sends a token to each at every tick."""

    def __init__(self, streams: int, tokens: int, rate: float) -> None:
        self.streams, self.tokens, self.rate = streams, tokens, rate
        self.waiting: list[tuple[asyncio.StreamWriter, asyncio.Event]] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")]
                await reader.readexactly(int(lengths[0].partition(b":")[2]))
                sent = asyncio.Event()
                self.waiting.append((writer, sent))
                if len(self.waiting) == self.streams:
                    group, self.waiting = self.waiting, []
                    await self.send(group)
                await sent.wait()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def send(self, group: list[tuple[asyncio.StreamWriter, asyncio.Event]]) -> None:
        for writer, _ in group:
            writer.write(HEAD)
        event, loop = chunk(EVENT), asyncio.get_running_loop()
        begin = loop.time()
        for number in range(self.tokens):
            await asyncio.sleep(begin + number * self.streams / self.rate - loop.time())
            for writer, _ in group:
                writer.write(event)
        for writer, sent in group:
            writer.write(chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
            sent.set()


def run_server(streams: int, tokens: int, rate: float, port: Connection) -> None:
    async def main() -> None:
        paced = PacedServer(streams, tokens, rate)
        server = await asyncio.start_server(paced.serve, "127.0.0.1", 0)
        port.send_bytes(str(server.sockets[0].getsockname()[1]).encode())
        await server.serve_forever()

    asyncio.run(main())


class HttpxTransport:
    def __init__(self, url: str) -> None:
        self.url = url
        self.client = httpx.AsyncClient(
            timeout=None, limits=httpx.Limits(max_connections=None), trust_env=False
        )

    async def post(self, path: str, body: bytes) -> AsyncGenerator[bytes]:
        async with self.client.stream("POST", self.url + path, content=body) as answer:
            async for piece in answer.aiter_raw():
                yield piece


async def measure(name: str, url: str, streams: int, rounds: int) -> list[tuple[float, float]]:
    """By round: tokens a second, and processor seconds a token."""
    transport: Transport = HttpTransport(url) if name == "aiohttp" else HttpxTransport(url)
    found = []
    for _ in range(rounds + 1):
        begin, cpu = time.perf_counter(), time.process_time()
        answers = await Load(transport, 600).at_once(draw_asks(Shape(), "m", streams, 0), streams)
        tokens = sum(answer.tokens for answer in answers)
        found.append((tokens / (time.perf_counter() - begin), (time.process_time() - cpu) / tokens))
    if isinstance(transport, HttpTransport):
        await transport.__aexit__(None, None, None)
    return found[1:]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--tokens", type=int, default=256, help="of one stream")
    parser.add_argument("--rate", type=float, default=20_000, help="tokens a second, over all streams")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    parent, child = context.Pipe()
    server = context.Process(
        target=run_server, args=(options.streams, options.tokens, options.rate, child), daemon=True
    )
    server.start()
    url = f"http://127.0.0.1:{int(parent.recv_bytes())}"
    print(
        f"{os.cpu_count()} cores, Python {platform.python_version()}, aiohttp {version('aiohttp')}, "
        f"httpx {version('httpx')}; {options.streams} streams at {options.rate:,.0f} tokens/s; "
        f"medians of {options.rounds} rounds (lowest to highest)"
    )
    for name in ("aiohttp", "httpx"):
        found = asyncio.run(measure(name, url, options.streams, options.rounds))
        speeds = [speed for speed, _ in found]
        costs = sorted(cost * 1e6 for _, cost in found)
        cost = statistics.median(costs)
        print(
            f"{name}: received {statistics.median(speeds):,.0f} tokens/s, {cost:.1f} us of processor a token "
            f"({costs[0]:.1f} to {costs[-1]:.1f}): a whole core at {1e6 / cost:,.0f} tokens/s"
        )
    server.terminate()
    return 0


if __name__ == "__main__":
    sys.exit(main())
