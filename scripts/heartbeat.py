"""How long the API process's event loop stands still for a large body.

    python scripts/heartbeat.py

The app under uvicorn, with all that `serve` puts around it but the workers: what reaches the link to the
tokenizers is answered at once. A task on the same loop wakes every millisecond and notes how much CPU time
its thread has used since; another process sends the bodies. CPU time, as the time on the clock has the waits
for other processes in it, here as on any busy machine; it is shown beside.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

import uvicorn

from minisgl_tutor.links import MemoryAsyncPull, MemoryAsyncPush, MemoryChannel, MemoryPull
from minisgl_tutor.message import TokenizeMsg, UserReply
from minisgl_tutor.server.api_server import create_app
from minisgl_tutor.server.config import ServerArgs
from minisgl_tutor.server.frontend import FrontendManager
from minisgl_tutor.server.openai.bulk import BulkBodies
from minisgl_tutor.server.operations.ledger import Ledger
from minisgl_tutor.server.operations.operations import Operations
from minisgl_tutor.server.operations.watch import Pulses

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


class Heart:
    """Beats on the running loop. ``longest`` is the most that happened between two beats."""

    def __init__(self) -> None:
        self.longest = (0.0, 0.0)

    async def beat(self) -> None:
        while True:
            cpu, clock = time.thread_time(), time.perf_counter()
            await asyncio.sleep(0.001)
            beat = (time.thread_time() - cpu, time.perf_counter() - clock)
            self.longest = (max(self.longest[0], beat[0]), max(self.longest[1], beat[1]))


def server() -> tuple[uvicorn.Server, asyncio.Task[None]]:
    """The service, and what answers in the place of its workers."""
    outbox, inbox = MemoryChannel("api>tokenizer"), MemoryChannel("detokenizer>api")
    args = ServerArgs()
    state = FrontendManager([MemoryAsyncPush(outbox)], MemoryAsyncPull(inbox))
    app = create_app(state, "m", limits=args.limits, examine=BulkBodies(args.limits.max_prompt_chars).examine)
    operations = Operations(args, state, app, app, Ledger(), Pulses({}, args.limits))

    async def answer() -> None:
        while True:
            await outbox.wait()
            frames = [outbox.frames.popleft() for _ in range(len(outbox.frames))]
            for msg in await asyncio.to_thread(read, frames):
                if isinstance(msg, TokenizeMsg):
                    inbox.send(UserReply(msg.uid, "yes", True, "stop"))

    config = uvicorn.Config(operations.asgi, port=0, log_config=None, access_log=False)
    return uvicorn.Server(config), asyncio.create_task(answer())


def read(frames: list[bytes]) -> list[object]:
    """What a worker does, and so not the loop."""
    channel = MemoryChannel("api>tokenizer")
    channel.frames.extend(frames)
    return list(MemoryPull(channel).drain(blocking=False))


async def main() -> None:
    http, answering = server()
    serving = asyncio.create_task(http.serve())
    while not http.started:
        await asyncio.sleep(0.01)
    port = http.servers[0].sockets[0].getsockname()[1]
    print(f"{'body':<30} {'status':>6}   ms of CPU at a stretch; ms on the clock: median (range) of {ROUNDS}")
    with tempfile.TemporaryDirectory() as folder:
        for name, body in bodies().items():
            file = Path(folder) / "body"
            file.write_bytes(body)
            await measure(name, port, file)
    http.should_exit = True
    answering.cancel()
    await serving


async def measure(name: str, port: int, file: Path) -> None:
    beats, status = [], ""
    for _ in range(ROUNDS):
        heart = Heart()
        beating = asyncio.create_task(heart.beat())
        sender = await asyncio.create_subprocess_exec(
            sys.executable, __file__, str(port), str(file), stdout=asyncio.subprocess.PIPE
        )
        status = (await sender.communicate())[0].decode().strip()
        beating.cancel()
        beats.append(heart.longest)
    cpu, clock = ([beat[i] * 1e3 for beat in beats] for i in range(2))
    print(f"{name:<30} {status:>6}   {spread(cpu)}; {spread(clock)}", flush=True)


def spread(times: list[float]) -> str:
    return f"{statistics.median(times):6.1f} ({min(times):.1f} to {max(times):.1f})"


async def send(port: int, body: bytes) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = (
        "POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json"
    )
    writer.write(f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    print((await reader.readline()).decode().split(" ", 2)[1])
    await reader.read(-1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(send(int(sys.argv[1]), Path(sys.argv[2]).read_bytes()))
    else:
        asyncio.run(main())
