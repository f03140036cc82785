"""Sends seeded random requests, most of them wrong, to a real server, and checks that it is as before.

    python scripts/fuzz_http.py --requests 2000 --seed 0

Each goes over a socket of its own, as bytes: bodies of wrong types, numbers and
text that no field takes, broken JSON and HTTP, pipelines, chunked and slow
bodies, and clients that leave at any moment. Checked: no answer has a status of
500 or more, every worker still lives, the log has no traceback, the front end
keeps nothing, every slot and page can be used, the answer to a plain question
is the same as before, and a replay of the recorded run leaves nothing either.
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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from minisgl_tutor.recording import Recording, StepLine, SubmitLine, read_recording
from minisgl_tutor.resources import model_dir
from minisgl_tutor.tokenizer.load import load_tokenizer
from minisgl_tutor.trace.play import play

SLOTS, PAGES, PAGE_SIZE = 4, 48, 16
AT_ONCE = 16
PATIENCE_S = 120

# JSON as text: much of this no encoder would write.
NUMBERS = ["0", "-1", "1", "0.5", "1e999", "NaN", "-Infinity", "1e-999", str(2**31), str(2**70), "9" * 5000]
STRINGS = ['""', r'"\ud800"', r'"a\udfffb"', r'"\u0000"', '"什么是 KV Cache？"', '"<|im_end|>"', '"user"']
OTHERS = ["null", "true", "[]", "{}", '["a", "."]', "[[]]", '{"a": 1}']
OTHERS += ["[" * 99 + "]" * 99, "[" * 20_000 + "]" * 20_000]
VALUES = [*NUMBERS, *STRINGS, *OTHERS]
BODIES = [b"", b"\xff\xfe", b"null", b"[]", b'"x"', b"{", b"[" * 100_000, b" " * 10**6]
HEADERS = ["X: " + "a" * 100_000, "no colon", "Content-Length: -1", "\x00: b"]

# Of each field, what it may have, and what it just may not have. VALUES are for all of them.
FIELDS: dict[str, list[str]] = {
    "model": ['"m"'],
    "prompt": [
        '"A KV cache"',
        '["A", "A KV cache"]',
        "[1, 2]",
        '["a", 1]',
        '[""]',
        '""',
        '["a"' + ', "a"' * 128 + "]",
    ],
    "messages": ['[{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hi"}]', '["a"]'],
    "max_tokens": ["1", "9", "1000000", "0"],
    "max_completion_tokens": ["1", "9", "1000000", "0"],
    "stream": ["true", "false", '"yes"'],
    "stream_options": ['{"include_usage": true}', '{"include_usage": 7}', '{"x": 1}'],
    "temperature": ["0", "0.7", "100", "100.1", "1e-300", "5e-324"],
    "top_k": ["-1", "0", "1", "40", "2147483647", "-2"],
    "top_p": ["1", "0.5", "1e-300", "1.01"],
    "min_p": ["0", "0.1", "1", "1.01"],
    "seed": ["0", "-1", "9223372036854775807", "9223372036854775808"],
    "n": ["1", "2", "5", "128", "129"],
    "stop": [
        '"e"',
        '["e", "\\n"]',
        '["' + "x" * 512 + '"]',
        '["' + "x" * 513 + '"]',
        '["a"' + ', "zz"' * 15 + "]",
    ],
    "presence_penalty": ["2", "-2", "-2.1"],
    "frequency_penalty": ["2", "-2", "2.1"],
    "logit_bias": ['{"5": 100, "6": -100}', '{"999999": 1}', '{"-1": 1}', '{"5": NaN}', '{"a": 1}'],
    "logprobs": ["true", "0", "5", "20", "21"],
    "top_logprobs": ["0", "20", "21"],
    "ignore_eos": ["true", "1"],
    "echo": ["false", "true"],
    "best_of": ["1", "2"],
    "suffix": ['""', '"x"'],
    "tools": ["[]", "[{}]"],
    "tool_choice": ['"none"', '"required"'],
    "response_format": ['{"type": "text"}', '{"type": "json_object"}'],
    "reasoning_effort": ['"none"', '"high"'],
    "user": ['"u"'],
    "metadata": ['{"a": "b"}'],
    "guided_json": ["{}"],
    "__class__": ["1"],
    r"\ud800": ["1"],
}
PART = '{{"type": "text", "text": {}}}'
PARTS = [
    PART,
    PART + ", " + PART,
    '{{"type": "image_url", "image_url": {{"url": {}}}}}',
    '{{"type": {}}}',
    "{}",
]
PATHS = ["/v1/chat/completions"] * 20 + ["/v1/completions"] * 9 + ["/v1/models", "/health", "/", "/%ff/%00"]
TYPES = ["application/json"] * 60 + ["text/plain", "application/xml", "multipart/form-data", "\xff", ""]


class Fuzz:
    """Draws requests. The same seed draws the same."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def often(self, chance: float) -> bool:
        return self.random.random() < chance

    def value(self) -> str:
        return self.random.choice(VALUES)

    def message(self) -> str:
        role = self.value() if self.often(0.03) else '"user"'
        content = self.value() if self.often(0.1) else '"What is a KV cache?"'
        if self.often(0.1):
            content = f"[{self.random.choice(PARTS).format(content, content)}]"
        return f'{{"role": {role}, "content": {content}}}'

    def field(self) -> tuple[str, str]:
        """One of all fields, with something that it may have more often than not."""
        name = self.random.choice(list(FIELDS))
        return name, self.random.choice(FIELDS[name]) if self.often(0.7) else self.value()

    def body(self, path: str) -> bytes:
        """A good body for a path, with some of its fields spoilt; now and then something else altogether."""
        if self.often(0.05):
            return self.random.choice(BODIES)
        messages = [self.message() for _ in range(self.random.choice([0, 1, 1, 1, 1, 1, 2, 3]))]
        fields = {
            "model": '"m"',
            "messages": f"[{', '.join(messages)}]",
            "max_tokens": str(self.random.randrange(1, 12)),
            "stream": self.random.choice(["true", "false"]),
        }
        if path == "/v1/completions" or self.often(0.1):
            fields["prompt"] = self.value() if self.often(0.1) else '"The prefix cache"'
        if path == "/v1/completions" and self.often(0.95):
            del fields["messages"]
        fields |= dict(self.field() for _ in range(self.random.choice([0, 0, 0, 1, 1, 1, 2, 4])))
        text = ", ".join(f'"{name}": {value}' for name, value in fields.items()).encode()
        text = b"{" + text + b"}"
        return text[: self.random.randrange(len(text))] if self.often(0.05) else text

    def request(self, last: bool) -> bytes:
        """One request on the wire."""
        path, method = self.random.choice(PATHS), "POST"
        body = self.body(path)
        if self.often(0.1):
            method = self.random.choice(["GET", "HEAD", "OPTIONS", "PUT", "DELETE", "BREW", "\x00"])
        head = [f"{method} {path} HTTP/1.{int(self.often(0.95))}", "Host: x"]
        head.append(f"Content-Type: {self.random.choice(TYPES)}")
        if last:
            head.append("Connection: close")
        if self.often(0.15):
            head.append("Transfer-Encoding: chunked")
            cut = self.random.randrange(len(body) + 1)
            chunks = [part for part in (body[:cut], body[cut:]) if part]
            body = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in chunks) + b"0\r\n\r\n"
        elif self.often(0.95):
            head.append(f"Content-Length: {len(body)}")
        if self.often(0.03):
            head.append(self.random.choice(HEADERS))
        return "\r\n".join([*head, "", ""]).encode("latin-1") + body

    def wire(self) -> tuple[list[bytes], int | None]:
        """What one client sends, piece by piece, and after how many bytes of its answer it leaves."""
        count = self.random.choice([1, 1, 1, 1, 2, 4])
        data = b"".join(self.request(last=number == count - 1) for number in range(count))
        leaves = self.often(0.3)
        if leaves and self.often(0.3):
            return [data[: self.random.randrange(len(data))]], 0
        pieces = [data]
        if self.often(0.2):
            size = max(1, len(data) // self.random.randrange(2, 9))
            pieces = [data[at : at + size] for at in range(0, len(data), size)]
        return pieces, self.random.choice([0, 1, 200, 1000]) if leaves else None


async def send(port: int, pieces: list[bytes], leaves_after: int | None) -> bytes:
    """The answer, as far as this client reads it. A server may close first, on what is no HTTP."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    answer = b""
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0)
        while leaves_after is None or len(answer) < leaves_after:
            data = await reader.read(65536)
            if not data:
                break
            answer += data
    except ConnectionError:
        pass
    finally:
        writer.close()
    return answer


async def post(port: int, **fields: object) -> dict[str, object]:
    body = json.dumps({"model": "m", **fields}).encode()
    head = f"POST /v1/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return await answer_to(port, head.encode() + b"\r\n\r\n" + body)


async def answer_to(port: int, request: bytes) -> dict[str, object]:
    answer = await send(port, [request], None)
    result: dict[str, object] = json.loads(answer.partition(b"\r\n\r\n")[2])
    return result


async def attack(port: int, requests: int, seed: int) -> tuple[Counter[str], list[str]]:
    """How often each status came, and what must not have happened."""
    fuzz, free = Fuzz(seed), asyncio.Semaphore(AT_ONCE)
    statuses: Counter[str] = Counter()
    wrong: list[str] = []

    async def one(number: int, pieces: list[bytes], leaves_after: int | None) -> None:
        async with free:
            try:
                answer = await asyncio.wait_for(send(port, pieces, leaves_after), PATIENCE_S)
            except TimeoutError:
                wrong.append(f"request {number} had no end: {pieces[0][:300]!r}")
                return
        found = re.findall(rb"^HTTP/1\.[01] (\d+)", answer, re.MULTILINE)
        statuses.update(status.decode() for status in found or [b"none"])
        if any(status >= b"500" for status in found):
            wrong.append(f"request {number}: {answer[:300]!r} to {b''.join(pieces)[:3000]!r}")

    await asyncio.gather(*(one(number, *fuzz.wire()) for number in range(requests)))
    return statuses, wrong


async def use_all(port: int) -> list[dict[str, object]]:
    """Answers of as many requests as there are slots, which need all pages between them."""
    each = PAGES * PAGE_SIZE // SLOTS - PAGE_SIZE
    prompts = [f"Request {number} of those that fill it" for number in range(SLOTS)]
    return await asyncio.gather(
        *(post(port, prompt=text, max_tokens=each, ignore_eos=True) for text in prompts)
    )


def workers_of(pid: int) -> set[str]:
    listed = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return set(listed.stdout.split())


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, int]]:
    """The pid and the port of a server that records into ``folder`` and logs there."""
    options = ["--port", "0", "--max-running-req", str(SLOTS), "--num-pages", str(PAGES)]
    options += ["--page-size", str(PAGE_SIZE), "--record", str(folder / "run.jsonl")]
    command = [sys.executable, "-m", "minisgl_tutor", "serve", *options]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        found = re.search(r":(\d+),", line)
        if found is None:
            raise SystemExit(f"no server: {line}{(folder / 'log').read_text()}")
        yield process.pid, int(found[1])
    finally:
        process.terminate()
        process.wait()


def run(requests: int, seed: int, folder: Path) -> list[str]:
    """What is wrong."""
    question: dict[str, object] = {"prompt": "What is a KV cache?", "max_tokens": 24}
    with server(folder) as (pid, port):
        workers = workers_of(pid)
        before = asyncio.run(post(port, **question))["choices"]
        statuses, wrong = asyncio.run(attack(port, requests, seed))
        print(f"{requests} clients, answers by status: {dict(sorted(statuses.items()))}")
        if workers_of(pid) != workers:
            wrong.append(f"workers {workers} became {workers_of(pid)}")
        for answer in asyncio.run(use_all(port)):
            if "choices" not in answer:
                wrong.append(f"not all slots and pages can be used: {answer}")
        if asyncio.run(post(port, **question))["choices"] != before:
            wrong.append("a plain question has another answer than before")
        health = asyncio.run(answer_to(port, b"GET /health HTTP/1.0\r\n\r\n"))
        if (health.get("status"), health.get("requests")) != ("ok", 0):
            wrong.append(f"health is {health}")
    log = (folder / "log").read_text()
    wrong += [f"the log has {word}" for word in ("Traceback", "ERROR", "CRITICAL") if word in log]
    recording = read_recording(folder / "run.jsonl")
    if max(len(line.uids) for line in recording.lines[-200:] if isinstance(line, StepLine)) < SLOTS:
        wrong.append("not all slots were used at once")
    return wrong + replayed(recording)


def replayed(recording: Recording) -> list[str]:
    """What is wrong with a play of the run: who was answered then is answered now, and nothing is left."""
    played = play(recording, load_tokenizer(model_dir()))
    submitted = {line.rid for line in recording.lines if isinstance(line, SubmitLine)}
    wrong = [f"request {rid} was taken in one of run and replay" for rid in submitted ^ played.uids.keys()]
    wrong += [each.app_traceback for each in played.exchanges.values() if each.app_traceback]
    return wrong + [f"a replay leaves {held} at {part}" for part, held in played.held.items() if held]


def main() -> int:
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="Where the log and the recording stay.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        wrong = run(given.requests, given.seed, given.folder or Path(temporary))
    print("\n".join(wrong) or "nothing is wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
