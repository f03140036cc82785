"""From the scheduler to the sockets: tokens a second when the model costs nothing.

    benchmarks/control_plane.py [--tree DIR]... [--streams 256,64,16,1] [--step-ms 0] [--rounds 5]

Each tree is a checkout whose package is served (that of this script by default; give several to compare
them). Their servers are all started first, and their rounds take turns, so that a machine that is now fast
and now slow is so to all of them. Reported are medians and ranges over the rounds:

    tok/s       tokens / time from the first request to the end of the last answer
    tok/cpu-s   tokens / CPU seconds of all processes of the server
    us/tok      CPU microseconds a token, by process
    stall       the longest wait of any stream between two reads of its answer, once it had begun
    ev/read     events in one read of the client's: how much it fell behind, or was sent at once
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import signal
import socket
import statistics
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
from stream_load import run_round

HERE = Path(__file__).resolve().parent
MAX_TOKENS = 128
LEAST_REQUESTS = 64
MOST_PER_STREAM = 16


class Server:
    """One tree's server, in its own processes."""

    def __init__(self, tree: Path, step_ms: int, *options: str) -> None:
        self.name = tree.name
        self.port = _free_port()
        environment = {**os.environ, "PYTHONPATH": str(tree)}
        script = str(HERE / "free_server.py")
        self._process = subprocess.Popen(
            [sys.executable, script, str(self.port), str(step_ms), *options],
            cwd=tree,
            env=environment,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_ready(self) -> None:
        assert self._process.stdout is not None
        if "ready" not in self._process.stdout.readline():
            raise SystemExit(f"the server of {self.name} did not start")

    def cpu_s(self) -> dict[str, float]:
        """CPU seconds of each process so far."""
        root = psutil.Process(self._process.pid)
        seconds = {}
        for process in [root, *root.children(recursive=True)]:
            title = process.cmdline()[0] if process.cmdline() else ""
            if title.startswith("minisgl-"):
                times = process.cpu_times()
                seconds[title.removeprefix("minisgl-").split()[0]] = times.user + times.system
        return seconds

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


def measure(server: Server, streams: int, least: int = LEAST_REQUESTS) -> dict[str, Any]:
    """One round of ``least`` requests or more, as figures."""
    per_stream = min(MOST_PER_STREAM, max(1, -(-least // streams)))
    before = server.cpu_s()
    result = asyncio.run(run_round(server.port, streams, per_stream, MAX_TOKENS))
    used = {name: seconds - before[name] for name, seconds in server.cpu_s().items()}
    expected = streams * per_stream * MAX_TOKENS
    if result.tokens != expected:
        raise SystemExit(f"{server.name} counted {result.tokens} tokens, but {expected} were asked for")
    return {
        "tree": server.name,
        "streams": streams,
        "tokens": result.tokens,
        "tok_s": result.tokens / result.wall_s,
        "tok_cpu_s": result.tokens / max(0.01, sum(used.values())),
        "us_per_token": {name: seconds / result.tokens * 1e6 for name, seconds in used.items()},
        "client_us_per_token": result.client_cpu_s / result.tokens * 1e6,
        "stall_ms": result.longest_gap_s * 1e3,
        "events_per_read": result.events_per_read,
    }


def report(rounds: list[dict[str, Any]]) -> str:
    """The rounds of one tree and one number of streams, in a line."""

    def spread(figure: Callable[[dict[str, Any]], float], form: str = "{:,.0f}") -> str:
        values = [figure(each) for each in rounds]
        middle, low, high = (form.format(f(values)) for f in (statistics.median, min, max))
        return f"{middle} ({low} to {high})"

    processes = {
        name: statistics.mean(each["us_per_token"][name] for each in rounds)
        for name in rounds[0]["us_per_token"]
    }
    by_process = ", ".join(f"{name} {us:.1f}" for name, us in processes.items())
    client = statistics.mean(each["client_us_per_token"] for each in rounds)
    return (
        f"{rounds[0]['tree']:<12} {rounds[0]['streams']:>4}  tok/s {spread(lambda r: r['tok_s'])}  "
        f"tok/cpu-s {spread(lambda r: r['tok_cpu_s'])}  us/tok {by_process}, client {client:.1f}  "
        f"stall ms {spread(lambda r: r['stall_ms'])}  "
        f"ev/read {spread(lambda r: r['events_per_read'], '{:.1f}')}"
    )


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def _run(servers: list[Server], streams: list[int], rounds: int, warmup: int, file: Path | None) -> None:
    try:
        for server in servers:
            server.wait_ready()
        for count in streams:
            results: dict[Server, list[dict[str, Any]]] = {server: [] for server in servers}
            for turn in range(warmup + rounds):
                for server in servers:
                    figures = measure(server, count)
                    if turn >= warmup:
                        results[server].append(figures)
            for each in results.values():
                print(report(each), flush=True)
                if file is not None:
                    with file.open("a", encoding="utf-8") as out:
                        out.writelines(json.dumps(line) + "\n" for line in each)
    finally:
        for server in servers:
            server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tree", type=Path, action="append", help="a checkout to serve from; repeatable")
    parser.add_argument("--streams", default="256,64,16,1", help="numbers of streams, each measured in turn")
    parser.add_argument("--step-ms", type=int, default=0, help="what each step of the engine takes at least")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--warmup", type=int, default=1, help="rounds before, which do not count")
    parser.add_argument("--json", type=Path, help="file to which each round is appended as a line")
    given = parser.parse_args()
    streams = [int(count) for count in given.streams.split(",")]
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {cores} cores, load {load:.1f}")
    servers = [Server(tree.resolve(), given.step_ms) for tree in given.tree or [HERE.parent]]
    _run(servers, streams, given.rounds, given.warmup, given.json)


if __name__ == "__main__":
    main()
