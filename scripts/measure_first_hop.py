#!/usr/bin/env python3
"""Measure the time from pressing return on ``minisgl-tutor trace --chapter 5`` to the first hop on screen.

    scripts/measure_first_hop.py --runs 20

Each run is a new process on a pseudo-terminal, as a reader would have it. The
clock stops at the first line that shows a hop. Two conditions are measured one
after the other and reported apart:

warm   the files of Python, its packages and this project are in memory,
       because a run has just been made (which is not counted)
cold   they were dropped from the page cache before each run (Linux only), so
       that they are read from the disk; byte code is compiled already. What
       another process uses at that time stays in memory, so let none run.
"""

from __future__ import annotations

import argparse
import os
import pty
import re
import statistics
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
HOP = re.compile(r"^#\d+ .*→")


def first_hop_seconds(command: list[str]) -> float:
    """Seconds from the start of the process to the end of its first hop line.

    Raises:
        RuntimeError: the command ended without one.
    """
    screen, terminal = pty.openpty()
    environment = {**os.environ, "COLUMNS": "160", "LINES": "50", "TERM": "xterm-256color"}
    begin = time.perf_counter()
    process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.STDOUT, env=environment
    )
    os.close(terminal)
    shown = b""
    try:
        while True:
            try:
                piece = os.read(screen, 65536)
            except OSError:  # the other end of a terminal has closed
                piece = b""
            now = time.perf_counter()
            if not piece:
                raise RuntimeError("no hop was shown:\n" + shown.decode(errors="replace"))
            shown += piece
            complete_lines = STYLE.sub("", shown.decode(errors="replace")).split("\n")[:-1]
            if any(HOP.search(line) for line in complete_lines):
                return now - begin
    finally:
        process.kill()
        process.wait()
        os.close(screen)


def drop_from_page_cache(folders: list[Path]) -> None:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                descriptor = os.open(path, os.O_RDONLY)
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(descriptor)


def report(condition: str, seconds: list[float]) -> None:
    print(
        f"{condition}: median {statistics.median(seconds):.2f} s, min {min(seconds):.2f}, "
        f"max {max(seconds):.2f} ({len(seconds)} runs)"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--tutor", default=str(Path(sys.executable).with_name("minisgl-tutor")))
    args = parser.parse_args()
    command = [args.tutor, "trace", "--chapter", "5"]

    version = ".".join(map(str, sys.version_info[:3]))
    print(f"trace --chapter 5, command to first hop, Python {version}, {os.cpu_count()} cores")
    first_hop_seconds(command)
    report("warm", [first_hop_seconds(command) for _ in range(args.runs)])

    if hasattr(os, "posix_fadvise"):
        paths = sysconfig.get_paths()
        folders = [Path(paths["stdlib"]), Path(paths["purelib"]), ROOT / "minisgl_tutor", ROOT / "chapters"]
        cold = []
        for _ in range(args.runs):
            drop_from_page_cache(folders)
            cold.append(first_hop_seconds(command))
        report("cold", cold)


if __name__ == "__main__":
    main()
