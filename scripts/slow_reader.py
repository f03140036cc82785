"""Some clients stop reading while 64 others stream: what the API process holds, and what the others notice.

    python scripts/slow_reader.py [--readers 4] [--gap endless-backlog]

The API process, its links and sockets are real; a worker talks in place of the others, 100 pieces a second
to each client: short ones to the 64, and long ones to those that will not read, so that the kernel's buffers
are soon full. The growth of the API process is held against the bound that the options give; with the gap,
against nothing. The 64 should get their pieces as fast as before.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import httpx
import psutil

from minisgl_tutor.links.zmq_queue import ZmqPullQueue, ZmqPushQueue
from minisgl_tutor.message import AbortMsg, BatchFrontendMsg, ErrorReply, TokenizeMsg, UserReply
from minisgl_tutor.server.config import ServerArgs
from minisgl_tutor.server.processes.api_process import run_api_server
from minisgl_tutor.server.workers.addresses import Addresses
from minisgl_tutor.server.workers.children import Children
from minisgl_tutor.server.workers.worker import Ready

STREAMS = 64
EVERY_S = 0.01
SHORT, LONG = 16, 64 << 10
WINDOW_S = 5.0
WINDOWS = 4

PIECE_BYTES = 600
"""What an unread piece takes in memory besides its text, generously."""

WRITING_BYTES = 8 * LONG
"""Of what is on its way out: a piece, as text and as JSON, and what the socket's transport holds of it."""

BOUND = ServerArgs.backlog_bytes + ServerArgs.backlog_limit * PIECE_BYTES + WRITING_BYTES


def talk(address: str, frontend: str, ready: Ready) -> None:
    """The worker: a prompt is the length of the pieces that its client wants, without end."""
    pull, push = ZmqPullQueue(address, "in"), ZmqPushQueue(frontend, "out")
    ready()
    wanted: dict[int, str] = {}
    due = time.monotonic()
    while True:
        for msg in pull.drain(blocking=not wanted):
            if isinstance(msg, TokenizeMsg):
                wanted[msg.uid] = "x" * int(str(msg.text))
            elif isinstance(msg, AbortMsg):
                del wanted[msg.uid]
        replies: list[UserReply | ErrorReply] = [UserReply(uid, text, False) for uid, text in wanted.items()]
        push.put(BatchFrontendMsg(replies))
        due = max(due + EVERY_S, time.monotonic())
        time.sleep(max(0.0, due - time.monotonic()))


def serve(gap: str) -> int:
    def start_subprocess(children: Children, addresses: Addresses) -> None:
        children.start("minisgl-tokenizer-0", talk, addresses.tokenizers[0], addresses.frontend)

    args = ServerArgs(port=0, log_level="warning", gaps=(gap,) if gap else ())
    return run_api_server(args, start_subprocess)


async def ask(port: int, piece: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 20)
    body = json.dumps({"model": "m", "prompt": str(piece), "stream": True}).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"{head}Content-Type: application/json\r\n\r\n".encode() + body)
    return reader, writer


class Streams:
    """Clients that read all they get, and how many pieces that is."""

    def __init__(self) -> None:
        self.pieces = 0

    async def run(self, port: int) -> None:
        reader, _ = await ask(port, SHORT)
        while line := await reader.readline():
            self.pieces += line.startswith(b"data: {")

    async def rates(self, api: psutil.Process) -> tuple[list[float], float]:
        """Pieces a second in each window, and the largest memory of the API process."""
        rates, peak = [], 0.0
        for _ in range(WINDOWS):
            begin, before = time.perf_counter(), self.pieces
            while time.perf_counter() < begin + WINDOW_S:
                await asyncio.sleep(0.02)
                peak = max(peak, api.memory_info().rss / 2**20)
            rates.append((self.pieces - before) / (time.perf_counter() - begin))
        return rates, peak


async def measure(port: int, api: psutil.Process, readers: int) -> bool:
    streams = Streams()
    tasks = [asyncio.create_task(streams.run(port)) for _ in range(STREAMS)]
    await asyncio.sleep(2)
    alone, before = await streams.rates(api)
    stopped = [await ask(port, LONG) for _ in range(readers)]
    for _, writer in stopped:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
    beside, peak = await streams.rates(api)
    page = (await asyncio.to_thread(httpx.get, f"http://127.0.0.1:{port}/metrics", trust_env=False)).text
    ended = Counter(dict(re.findall(r'request_success_total{finished_reason="(\w+)".*} (\d+)', page)))
    bound = readers * BOUND / 2**20
    print(f"{STREAMS} streams alone: {spread(alone)} pieces/s, API process {before:.1f} MiB at most")
    print(f"beside {readers} that stopped: {spread(beside)} pieces/s, {peak:.1f} MiB at most")
    print(f"growth {peak - before:.1f} MiB; bound {bound:.1f} MiB; aborted: {ended['abort']}")
    for task in tasks:
        task.cancel()
    for _, writer in stopped:
        writer.close()
    return peak - before <= bound


def spread(rates: list[float]) -> str:
    return f"{statistics.median(rates):,.0f} ({min(rates):,.0f} to {max(rates):,.0f})"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--readers", type=int, default=4, help="clients that stop reading")
    parser.add_argument("--gap", default="", help="serve with this gap")
    options = parser.parse_args()
    command = [sys.executable, "-c", f"import slow_reader; slow_reader.serve({options.gap!r})"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent)
    try:
        assert server.stdout is not None
        found = re.search(r"http://\S+:(\d+)", server.stdout.readline())
        assert found is not None, "no server"
        fine = asyncio.run(measure(int(found[1]), psutil.Process(server.pid), options.readers))
    finally:
        server.kill()
        server.wait()
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
