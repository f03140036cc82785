"""How long the API process's event loop stands still while large bodies come in, as other clients feel it.

    python scripts/heartbeat.py

A server with an engine that costs nothing. One client asks `/health` over and over on a connection of its own
and notes its longest wait, while another sends, one after the other, bodies of each kind: the wait without
any body shows what the machine itself adds.
"""

from __future__ import annotations

import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

FREE_SERVER = Path(__file__).parents[1] / "benchmarks" / "free_server.py"
ROUNDS = 5
MEGABYTE = 1 << 20


def chat(*contents: str) -> bytes:
    messages = [{"role": "user", "content": content} for content in contents]
    return json.dumps({"model": "m", "max_tokens": 1, "messages": messages}, ensure_ascii=False).encode()


def bodies() -> dict[str, bytes]:
    """Each is what one client could send."""
    escaped = "".join(f"\\u{0x4E00 + i % 20_000:04x}" for i in range(2 * MEGABYTE))
    code = 'if (x["a"] > {1, 2}) { return "no"; }\n'
    return {
        "nothing": b"",
        "a prompt of 1.9 MB": chat("Hello world. " * 150_000),
        "a prompt of 5.7 MB, Chinese": chat("什么是缓存" * 380_000),
        "1 MB of code": chat(code * 28_000),
        "a prompt of 15 MB, too long": chat("Hello world. " * 1_200_000),
        "12 MB of escapes, too long": b'{"model": "m", "prompt": "' + escaped.encode() + b'"}',
        "16 MB in 350,000 messages": chat(*["a"] * 350_000),
        "8 MB in 4,000,000 numbers": b'{"model": "m", "stop": [' + b"1," * (4 * MEGABYTE) + b"1]}",
        "16 MB of brackets": b"[" * (8 * MEGABYTE) + b"]" * (8 * MEGABYTE),
        "16 MB that is no JSON": b'{"model": "' + b"x" * (15 * MEGABYTE),
    }


async def exchange(port: int, request: bytes) -> str:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    await writer.drain()
    status = (await reader.readline()).decode().split(" ", 2)[1]
    await reader.read(-1)
    writer.close()
    return status


def post(body: bytes) -> bytes:
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json"
    )
    return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def longest_wait(port: int, stop: asyncio.Event) -> float:
    """Of a client that asks again and again on one connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    longest = 0.0
    while not stop.is_set():
        begin = time.perf_counter()
        writer.write(b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n")
        head = await reader.readuntil(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", head)
        assert length is not None
        await reader.readexactly(int(length[1]))
        longest = max(longest, time.perf_counter() - begin)
        await asyncio.sleep(0.002)
    writer.close()
    return longest


@contextmanager
def asking(port: int) -> Iterator[subprocess.Popen[str]]:
    """The client that asks, in a process of its own: it must not wait for the one that sends."""
    process = subprocess.Popen(
        [sys.executable, __file__, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process
    process.wait()


def one(port: int, body: bytes) -> tuple[float, str]:
    """The longest wait in milliseconds while a body was dealt with, and the status of its answer."""
    with asking(port) as process:
        time.sleep(0.2)
        status = asyncio.run(exchange(port, post(body))) if body else "-"
        time.sleep(0.2)
        out, _ = process.communicate("stop\n")
    return float(out) * 1e3, status


async def ask_until_told(port: int) -> None:
    stop = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, stop.set)
    print("asking", flush=True)
    print(await longest_wait(port, stop))


def main() -> None:
    server = subprocess.Popen([sys.executable, FREE_SERVER, "0", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+:(\d+)", server.stdout.readline())
        assert found is not None, "no server"
        port = int(found[1])
        print(f"{'body':<30} {'status':>6}   longest wait of another client, ms: median (range) of {ROUNDS}")
        for name, body in bodies().items():
            results = [one(port, body) for _ in range(ROUNDS)]
            waits = sorted(wait for wait, _ in results)
            middle = statistics.median(waits)
            print(
                f"{name:<30} {results[0][1]:>6}   {middle:8.1f} ({waits[0]:.1f} to {waits[-1]:.1f})",
                flush=True,
            )
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(ask_until_told(int(sys.argv[1])))
    else:
        main()
