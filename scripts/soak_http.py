"""Thousands of requests to a real server; a third of the clients leave at random. Nothing may be left.

    python scripts/soak_http.py --requests 2000 --seed 0

The shipped model, real processes and sockets. Every message is recorded, so that aborts can be counted where
they arrive. Checked: every client that stays has a whole answer; no request had two aborts, and none had
neither an end nor an abort; afterwards `/metrics` shows every state map at zero, and all slots and all pages
free or cached; the log has no warning and one line a request, besides one for each that left.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from minisgl_tutor.recording import HopLine, SubmitLine, read_recording

AT_ONCE = 96
"""More than run at once, so that some wait."""

PATIENCE_S = 300
OPTIONS = ["--port", "0", "--threads", "1", "--num-tokenizer", "2", "--record-messages"]


class Clients:
    """Sends the requests and counts how they ended."""

    def __init__(self, port: int, seed: int) -> None:
        self.met: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._port = port
        self._random = random.Random(seed)
        self._free = asyncio.Semaphore(AT_ONCE)

    async def run(self, requests: int) -> None:
        await asyncio.gather(*(self._one(number) for number in range(requests)))

    async def _one(self, number: int) -> None:
        pick = self._random
        streams = pick.random() < 0.7
        body = {
            "model": "m",
            "messages": [
                {"role": "user", "content": f"{number}: What is a KV cache? " * pick.choice([1, 1, 8])}
            ],
            "max_tokens": pick.choice([1, 4, 16, 40]),
            "stream": streams,
            "ignore_eos": pick.random() < 0.5,
        }
        leaves_after_s = pick.choice([0.0, 0.02, 0.1, 0.3, 1.0]) * pick.random()
        leaves = pick.random() < 0.4
        async with self._free:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
            data = json.dumps(body).encode()
            head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n"
            head += "Content-Type: application/json\r\nConnection: close\r\n\r\n"
            writer.write(head.encode() + data)
            try:
                patience = leaves_after_s if leaves else PATIENCE_S
                answer = await asyncio.wait_for(reader.read(-1), patience)
            except TimeoutError:
                self.met["left"] += 1
                if not leaves:
                    self.wrong.append(f"client {number} waited {PATIENCE_S} s")
            else:
                self.met["answered"] += 1
                whole = b"data: [DONE]" in answer if streams else b'"finish_reason":' in answer
                if not (answer.startswith(b"HTTP/1.1 200 ") and whole):
                    self.wrong.append(f"client {number} got {answer[-300:]!r}")
            finally:
                writer.close()


def metrics(url: str) -> dict[str, float]:
    page = urlopen(f"{url}/metrics", timeout=60).read().decode()
    found = {}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels = [value for name, value in sample.labels.items() if name != "model_name"]
            found["/".join([sample.name.removeprefix("minisgl_tutor_"), *labels])] = sample.value
    return found


def settled(url: str) -> dict[str, float]:
    """The metrics once every worker has told how it is after the last request."""
    time.sleep(2.5)
    return metrics(url)


def wrong_in_metrics(found: dict[str, float], worker: str = "minisgl-TP0-scheduler") -> list[str]:
    wrong = [f"{name} is {value:g}" for name, value in found.items() if name.startswith("held_") and value]
    pages = found[f"kv_pages_free/{worker}"] + found[f"kv_pages_cached/{worker}"]
    if pages != found[f"kv_pages/{worker}"]:
        wrong.append(f"{pages:g} of {found[f'kv_pages/{worker}']:g} pages can be used")
    if found[f"slots_free/{worker}"] != found[f"slots/{worker}"]:
        wrong.append("not all slots are free")
    return wrong


def wrong_in_messages(file: Path) -> tuple[list[str], int]:
    """What is wrong with the recorded messages, and how many aborts there are."""
    aborts: Counter[int] = Counter()
    ended: set[int] = set()
    recording = read_recording(file)
    submitted = [line.uid for line in recording.lines if isinstance(line, SubmitLine)]
    for line in recording.lines:
        if isinstance(line, HopLine):
            uid = line.message["uid"]
            if line.message["type"] == "AbortMsg":
                aborts[uid] += 1
            elif line.receiver == "api" and line.message.get("finished"):
                ended.add(uid)
    wrong = [f"request {uid} had {count} aborts" for uid, count in aborts.items() if count > 1]
    wrong += [f"request {uid} had no end" for uid in submitted if uid not in ended and uid not in aborts]
    return wrong, sum(aborts.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as name:
        folder = Path(name)
        record = folder / "run.jsonl"
        command = [sys.executable, "-m", "minisgl_tutor", "serve", *OPTIONS, "--record", str(record)]
        with (folder / "log").open("w") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        assert process.stdout is not None
        try:
            found = re.search(r"http://\S+:(\d+)", process.stdout.readline())
            if found is None:
                raise SystemExit((folder / "log").read_text())
            clients, begin = Clients(int(found[1]), options.seed), time.perf_counter()
            asyncio.run(clients.run(options.requests))
            seconds = time.perf_counter() - begin
            after = settled(found[0])
        finally:
            process.terminate()
            process.wait()
        lines = (folder / "log").read_text().splitlines()
        bad, aborts = wrong_in_messages(record)
    wrong = clients.wrong + wrong_in_metrics(after) + bad
    wrong += [line for line in lines if re.search(r"WARNING|ERROR|CRITICAL|Traceback", line)]
    told = sum(" INFO " in line for line in lines)
    if told > options.requests + aborts + 20:
        wrong.append(f"{told} lines in the log")
    tokens, memory = after["generation_tokens_total"], after["process_resident_memory_bytes"] / 2**20
    print(
        f"{options.requests:,} requests in {seconds:.0f} s, {tokens:,.0f} tokens: {dict(clients.met)}, "
        f"{aborts} aborts, {told} log lines; API process {memory:.0f} MiB"
    )
    print("\n".join(wrong[:20]) or "nothing is left, nothing is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
