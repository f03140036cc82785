"""How fast a recording is replayed, and in how much memory, when steps are handed on and not kept.

    benchmarks/replay.py [--requests 10000] [--tokens 16] [--streams 64] [--rounds 3] [--json FILE]

The recording is written by hand: so many streams at a time, each of which asks for its next answer when one
is complete, every tenth of them leaving half-way. Each round is a process of its own, so that its peak of
memory is its own. Reported are the time to the first step and to the last, steps a second (and a
second of the processor, on a machine that others use too), and the peak.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from minisgl_tutor.recording import (
    VERSION,
    ArriveLine,
    DisconnectLine,
    Event,
    Header,
    Recording,
    RequestLine,
    StepLine,
    SubmitLine,
    TokensLine,
    read_recording,
)
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_eos_token_ids, load_tokenizer
from minisgl_tutor.tokenizer.tokenizer import Tokenizer
from minisgl_tutor.trace.play import stream
from minisgl_tutor.trace.steps import Step

STEP_US = 10_000
TEXT = (
    "The KV cache keeps the keys and values of all tokens so far, so a decode step computes one token only. "
)


def lines(requests: int, tokens: int, streams: int, tokenizer: Tokenizer) -> Iterator[Event]:
    """Rounds of ``streams`` requests: a prefill of all, then decode steps of all that are still there."""
    content = "What is a KV cache?"
    messages = [{"role": "user", "content": content}]
    prompt = len(tokenizer.encode(tokenizer.apply_chat_template(messages), add_special_tokens=False))
    text = tokenizer.encode(TEXT, add_special_tokens=False)
    body = json.dumps(
        {"model": "any", "messages": messages, "max_tokens": tokens, "stream": True, "ignore_eos": True}
    )
    n = 0
    for first in range(0, requests, streams):
        uids = list(range(first, min(first + streams, requests)))
        begin = (first // streams) * (tokens + 4) * STEP_US
        for uid in uids:
            yield RequestLine(begin, uid, "POST", "/v1/chat/completions", body)
            yield SubmitLine(begin, uid, uid, f"stamp{uid}", 1_700_000_000)
        yield ArriveLine(begin + 200, uids, [])
        here = uids
        for i in range(tokens):
            at = begin + 300 + i * STEP_US
            if i == tokens // 2:
                leavers = [uid for uid in uids if uid % 10 == 0]
                for uid in leavers:
                    yield DisconnectLine(at - 200, uid, i)
                yield ArriveLine(at - 100, [], leavers)
                here = [uid for uid in uids if uid % 10]
            yield StepLine(at, n, "decode" if i else "prefill", here, [prompt + i] * len(here))
            yield TokensLine(at + STEP_US - 100, n, [text[i % len(text)]] * len(here))
            n += 1


def write(path: Path, requests: int, tokens: int, streams: int) -> None:
    tokenizer = load_tokenizer(model_dir())
    header = Header(
        version=VERSION,
        model=None,
        served_model="any",
        page_size=16,
        num_pages=4096,
        num_slots=256,
        max_seq_len=2048,
        vocab_size=tokenizer.vocab_size,
        prefill_budget=65_536,
        cache="radix",
        overlap=False,
        num_tokenizer=1,
        backlog_limit=4096,
        eos_token_ids=sorted(load_eos_token_ids(model_dir(), tokenizer)),
    )
    Recording(header, list(lines(requests, tokens, streams, tokenizer))).write(path)


def play(path: Path) -> dict[str, Any]:
    """One replay in this process, as figures."""
    begin, first = time.perf_counter(), 0.0

    def give(step: Step) -> None:
        nonlocal first
        first = first or time.perf_counter()

    recording, tokenizer = read_recording(path), load_tokenizer(model_dir())
    read, cpu = time.perf_counter(), time.process_time()
    result = stream(recording, tokenizer, recording.header.gaps, give)
    end = time.perf_counter()
    return {
        "steps": result.count,
        "findings": len(result.findings),
        "beyond": sum(result.beyond.values()),
        "read_s": read - begin,
        "first_step_s": first - begin,
        "total_s": end - begin,
        "steps_s": result.count / (end - read),
        "steps_cpu_s": result.count / (time.process_time() - cpu),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--streams", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="file to which each round is appended as a line")
    parser.add_argument("--play", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.play is not None:
        print(json.dumps(play(given.play)))
        return
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.jsonl"
        write(path, given.requests, given.tokens, given.streams)
        print(f"{given.requests} requests of {given.tokens} tokens, {path.stat().st_size / 1e6:.1f} MB")
        rounds = []
        for _ in range(given.rounds):
            words = [sys.executable, __file__, "--play", str(path)]
            rounds.append(json.loads(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout))
            print(rounds[-1], flush=True)
            if given.json is not None:
                with given.json.open("a", encoding="utf-8") as out:
                    shape = {"requests": given.requests, "tokens": given.tokens, "streams": given.streams}
                    out.write(json.dumps({**shape, **rounds[-1]}) + "\n")
    for name in ("steps_s", "steps_cpu_s", "first_step_s", "total_s", "peak_mb"):
        values = [each[name] for each in rounds]
        print(f"{name}: {statistics.median(values):,.2f} ({min(values):,.2f} to {max(values):,.2f})")


if __name__ == "__main__":
    main()
