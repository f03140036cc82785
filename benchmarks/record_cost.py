"""What recording costs: two servers side by side, one of which records, and rounds that take turns.

    benchmarks/record_cost.py [--streams 64] [--rounds 7] [--step-ms 0]

The engine costs nothing (see `free_server.py`), so that this is the most that recording can take. Reported
are tokens a second, and tokens a CPU second of all processes of the server, which another load on the machine
changes less: medians, ranges, and the median of the differences within a pair of rounds.
"""

from __future__ import annotations

import argparse
import os
import platform
import statistics
import tempfile
from pathlib import Path
from typing import Any

from control_plane import HERE, Server, measure

LEAST_REQUESTS = 512
"""In a round, which is then long enough for the clock of CPU time."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--step-ms", type=int, default=0)
    given = parser.parse_args()
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    print(f"Python {platform.python_version()}, {cores} cores, load {load:.1f}, {given.streams} streams")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.jsonl"
        tree = HERE.parent
        servers = [Server(tree, given.step_ms), Server(tree, given.step_ms, "--record", str(file))]
        rounds: list[list[dict[str, Any]]] = [[], []]
        try:
            for server in servers:
                server.wait_ready()
            for turn in range(given.rounds + 1):
                order = (0, 1) if turn % 2 else (1, 0)
                for place in order:
                    figures = measure(servers[place], given.streams, LEAST_REQUESTS)
                    if turn:
                        rounds[place].append(figures)
        finally:
            for server in servers:
                server.stop()
        tokens = sum(each["tokens"] for each in rounds[1]) * (given.rounds + 1) / given.rounds
        print(f"the recording has {file.stat().st_size / tokens:.1f} bytes a token")
    for name in ("tok_s", "tok_cpu_s"):
        plain, recorded = ([each[name] for each in some] for some in rounds)
        losses = [1 - b / a for a, b in zip(plain, recorded, strict=True)]
        for label, values in (("plain", plain), ("recorded", recorded)):
            middle, low, high = statistics.median(values), min(values), max(values)
            print(f"{name:<10} {label:<9} {middle:,.0f} ({low:,.0f} to {high:,.0f})")
        middle, low, high = statistics.median(losses), min(losses), max(losses)
        print(f"{name:<10} loss      {middle:.1%} ({low:.1%} to {high:.1%})")


if __name__ == "__main__":
    main()
