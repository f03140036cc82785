"""A client that takes many answers at once as streams, and is cheap enough to share the server's machine.

Each connection is a bare protocol: the end of an answer is found in its last bytes, and nothing is parsed
while the clock runs. All connections are open before it starts.
"""

from __future__ import annotations

import asyncio
import gc
import json
import re
import time
from dataclasses import dataclass, field

HEAD_END = b"\r\n\r\n"
LAST_CHUNK = b"\r\n0\r\n\r\n"
TAIL_BYTES = 2048
COMPLETION_TOKENS = re.compile(rb'"completion_tokens":\s*(\d+)')


class AnswerFailed(RuntimeError):
    """The server did not give the whole answer that was asked for."""


@dataclass
class Answer:
    """What came for one request. Times are seconds of ``time.perf_counter``; a gap lies between two reads."""

    sent_at: float
    first_at: float = 0.0
    last_at: float = 0.0
    longest_gap: float = 0.0
    events: int = 0
    reads: int = 0
    tokens: int = 0


@dataclass(frozen=True)
class Round:
    """All answers of one round, and the time from the first request to the end of the last answer."""

    wall_s: float
    client_cpu_s: float
    answers: list[Answer] = field(repr=False)

    @property
    def tokens(self) -> int:
        return sum(answer.tokens for answer in self.answers)

    @property
    def longest_gap_s(self) -> float:
        return max(answer.longest_gap for answer in self.answers)

    @property
    def events_per_read(self) -> float:
        return sum(answer.events for answer in self.answers) / sum(answer.reads for answer in self.answers)


class _Stream(asyncio.Protocol):
    """One connection, which carries one request after the other."""

    def __init__(self) -> None:
        self._answer = Answer(0.0)
        self._tail = b""
        self._in_head = True
        self._done: asyncio.Future[Answer] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def ask(self, request: bytes) -> asyncio.Future[Answer]:
        self._tail, self._in_head = b"", True
        self._done = asyncio.get_running_loop().create_future()
        self._answer = Answer(time.perf_counter())
        self.transport.write(request)
        return self._done

    def data_received(self, data: bytes) -> None:
        now = time.perf_counter()
        if self._in_head:
            head, end, data = (self._tail + data).partition(HEAD_END)
            self._tail, self._in_head = (b"", False) if end else (head, True)
            if end and not head.startswith(b"HTTP/1.1 200"):
                self._fail(head.decode(errors="replace").splitlines()[0])
            if not data:
                return
        answer = self._answer
        if answer.first_at:
            answer.longest_gap = max(answer.longest_gap, now - answer.last_at)
        else:
            answer.first_at = now
        answer.last_at = now
        answer.reads += 1
        answer.events += data.count(b"\n\n")
        self._tail = data if len(data) > TAIL_BYTES else self._tail[-TAIL_BYTES:] + data
        if self._tail.endswith(LAST_CHUNK):
            self._finish()

    def connection_lost(self, error: Exception | None) -> None:
        self._fail(f"the connection was closed: {error}")

    def _finish(self) -> None:
        usage = COMPLETION_TOKENS.search(self._tail)
        if usage is None or b"data: [DONE]" not in self._tail:
            self._fail("the answer ended early")
        elif self._done is not None and not self._done.done():
            self._answer.tokens = int(usage[1])
            self._done.set_result(self._answer)

    def _fail(self, reason: str) -> None:
        if self._done is not None and not self._done.done():
            self._done.set_exception(AnswerFailed(reason))


async def run_round(port: int, streams: int, per_stream: int, max_tokens: int) -> Round:
    """``streams`` connections, each of which asks ``per_stream`` times, one after the other.

    Raises:
        AnswerFailed: an answer was refused or cut.
    """
    loop = asyncio.get_running_loop()
    connections = [await loop.create_connection(_Stream, "127.0.0.1", port) for _ in range(streams)]
    requests = [
        [_request(stream * per_stream + turn, max_tokens) for turn in range(per_stream)]
        for stream in range(streams)
    ]

    async def ask_all(stream: _Stream, texts: list[bytes]) -> list[Answer]:
        return [await stream.ask(text) for text in texts]

    gc.collect()
    gc.disable()
    cpu, begin = time.process_time(), time.perf_counter()
    tasks = [ask_all(stream, texts) for (_, stream), texts in zip(connections, requests, strict=True)]
    answers = [answer for answers in await asyncio.gather(*tasks) for answer in answers]
    result = Round(time.perf_counter() - begin, time.process_time() - cpu, answers)
    gc.enable()
    for transport, _ in connections:
        transport.close()
    return result


def _request(number: int, max_tokens: int) -> bytes:
    words = " ".join(f"w{(number * 7919 + i * 104729) % 9973}" for i in range(16))
    body = json.dumps(
        {
            "model": "any",
            "messages": [{"role": "user", "content": words}],
            "max_tokens": max_tokens,
            "temperature": 0,
            "stream": True,
            "ignore_eos": True,
            "stream_options": {"include_usage": True},
        }
    ).encode()
    head = (
        "POST /v1/chat/completions HTTP/1.1",
        "Host: 127.0.0.1",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    return "\r\n".join(head).encode() + HEAD_END + body
