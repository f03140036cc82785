"""Writes a recording while a server serves.

The API process and the scheduler's process append to one file, each line in one
write, so that a line is never torn by another process and everything up to the
last whole line survives a ``kill -9``. Neither component knows of it: the one is
seen through its ASGI interface, the other through its link and its engine.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from ..engine.base import Engine, EngineInfo, ForwardBatch, ForwardOutput, Logprobs
from ..language import Sentence
from ..links import LinkObserver, NoObserver
from ..message import AbortBackendMsg, Message, Single, UserMsg
from .lines import (
    ArriveLine,
    DisconnectLine,
    Header,
    HopLine,
    Line,
    RecordingError,
    RefuseLine,
    RequestLine,
    StallLine,
    StepLine,
    SubmitLine,
    TokensLine,
    encode_line,
)
from .redact import redacted_body, redacted_path, redacted_tokens, redacted_type
from .rotate import next_file, open_to_append

logger = logging.getLogger(__name__)

Scope = MutableMapping[str, Any]
AsgiMessage = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiMessage]]
Send = Callable[[AsgiMessage], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Stamp = Callable[[int], tuple[str, int]]

STALL_US = 1_000
"""A write that takes longer than this, while others are begun, has waited for its client."""

LONE_STALL_US = 50_000
"""If no other was begun, it may be the process that was held up; seldom for so long."""


@dataclass(frozen=True)
class RecordTarget:
    """The file of a recording, and the monotonic time at which it began. Shared by the server's processes.

    With ``messages`` every message is recorded as well. A file of ``max_bytes`` (0: of any size) is
    complete: the recording ends, or goes on in a new one while the ``rotate`` last ones are kept.
    With ``redact`` no text is written, nor any token that could be read as one.
    """

    path: str
    start_ns: int
    messages: bool = False
    max_bytes: int = 0
    rotate: int = 0
    redact: bool = False

    @classmethod
    def create(
        cls, path: Path, messages: bool = False, max_bytes: int = 0, rotate: int = 0, redact: bool = False
    ) -> RecordTarget:
        """An empty file.

        Raises:
            OSError: it cannot be written.
        """
        path.write_bytes(b"")
        return cls(str(path.resolve()), time.monotonic_ns(), messages, max_bytes, rotate, redact)


class RecordFile:
    """One process's end of the file. ``clock`` gives nanoseconds."""

    def __init__(self, target: RecordTarget, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self.clock = clock
        self.redact = target.redact
        self._path = target.path
        self._max_bytes = target.max_bytes
        self._rotate = target.rotate
        self._ended = False
        self._start_ns = target.start_ns
        self._fd = open_to_append(target.path)

    def now_us(self) -> int:
        return (self.clock() - self._start_ns) // 1000

    def write(self, line: Line) -> None:
        """Appends a line. Should there be no room for it, the recording ends and the server goes on.

        A file gets longer than it may by one line of each process at most.

        Raises:
            RecordingError: there is no room for the header, so there is no recording at all.
        """
        if self._ended:
            return
        data = encode_line(line)
        try:
            if self._max_bytes and os.fstat(self._fd).st_size >= self._max_bytes:
                if not self._rotate:
                    self._ended = True
                    logger.warning(
                        "%s has its %d bytes: the recording ends here", self._path, self._max_bytes
                    )
                    return
                self._fd = next_file(self._path, self._fd, self._rotate)
            reason = "" if os.write(self._fd, data) == len(data) else "no room for a whole line"
        except OSError as error:
            reason = error.strerror or str(error)
        if not reason:
            return
        self._ended = True
        if isinstance(line, Header):
            raise RecordingError(
                Sentence(
                    "{file} cannot be written ({why}); give --record another", file=self._path, why=reason
                )
            )
        logger.error("%s cannot be written any more (%s): the recording ends here", self._path, reason)

    def close(self) -> None:
        os.close(self._fd)


class RecordingApp:
    """An ASGI app that records the requests to another, and the clients that leave it."""

    def __init__(self, app: App, file: RecordFile) -> None:
        self._app = app
        self._file = file
        self._requests = 0
        self._writes = _Writes()
        self._exchange: ContextVar[_RecordedExchange] = ContextVar("exchange")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        exchange = _RecordedExchange(self._file, self._requests, self._writes, scope, receive, send)
        self._requests += 1
        self._exchange.set(exchange)
        try:
            await self._app(scope, exchange.receive, exchange.send)
        finally:
            exchange.close()

    def stamp(self, fresh: Stamp) -> Stamp:
        """``fresh``, with each uid and its stamp recorded."""

        def recorded(uid: int) -> tuple[str, int]:
            stamp, created = fresh(uid)
            exchange = self._exchange.get()
            exchange.submitted = True
            self._file.write(SubmitLine(self._file.now_us(), exchange.rid, uid, stamp, created))
            return stamp, created

        return recorded


@dataclass
class _Writes:
    """How many writes to clients were begun."""

    begun: int = 0


class _RecordedExchange:
    """One request and its answer, on their way through."""

    def __init__(
        self, file: RecordFile, rid: int, writes: _Writes, scope: Scope, receive: Receive, send: Send
    ) -> None:
        self.rid = rid
        self.submitted = False
        self._file = file
        self._writes = writes
        self._clock = file.clock
        self._scope = scope
        self._receive = receive
        self._send = send
        self._since_us = file.now_us()
        self._body = bytearray()
        self._chunks = 0
        self._over = False
        self._watcher: asyncio.Task[None] | None = None

    async def receive(self) -> AsgiMessage:
        message = await self._receive()
        if message["type"] == "http.request":
            self._body += message.get("body", b"")
            if not message.get("more_body", False):
                self._file.write(self._request_line())
                self._watcher = asyncio.create_task(self._watch(), name="recorded disconnect")
        return message

    def _request_line(self) -> RequestLine:
        # As a reader of JSON decodes it; what it would refuse must stay what it refuses.
        text = self._body.decode(json.detect_encoding(self._body), errors="backslashreplace")
        kind = dict(self._scope["headers"]).get(b"content-type", b"").decode("latin-1")
        method, path = self._scope["method"], self._scope["raw_path"].decode("latin-1")
        if self._file.redact:
            text, path, kind = redacted_body(text), redacted_path(path), redacted_type(kind)
        return RequestLine(self._since_us, self.rid, method, path, text, kind)

    def _answered(self, status: int) -> None:
        if not self.submitted or status >= 400:
            self._file.write(RefuseLine(self._file.now_us(), self.rid, status))

    async def _watch(self) -> None:
        """Sees the client leave, even if the app never looks; a server tells everyone who asks."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if not self._over:
            self._over = True
            self._file.write(DisconnectLine(self._file.now_us(), self.rid, self._chunks))

    def close(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()

    async def send(self, message: AsgiMessage) -> None:
        # Once for each token: what this costs is most of what a recording costs.
        if self._over or message["type"] != "http.response.body":
            if message["type"] == "http.response.start" and self._watcher is not None:
                self._answered(message["status"])
            await self._send(message)
            return
        before = self._chunks
        self._chunks = before + (message.get("body", b"").count(b"\n\n") or 1)
        self._over = not message.get("more_body", False)
        writes = self._writes
        writes.begun = own = writes.begun + 1
        begin_ns = self._clock()
        await self._send(message)
        us = (self._clock() - begin_ns) // 1000
        if us >= STALL_US and (us >= LONE_STALL_US or writes.begun != own):
            self._file.write(StallLine(self._file.now_us(), self.rid, before, us))


class RecordingObserver:
    """Records when requests and aborts reach the scheduler. ``log`` is told, too."""

    def __init__(self, file: RecordFile, log: LinkObserver) -> None:
        self._file = file
        self._log = log

    def sent(self, link: str, msg: Message) -> None:
        pass

    def received(self, link: str, msgs: list[Single]) -> None:
        self._log.received(link, msgs)
        users = [msg.uid for msg in msgs if isinstance(msg, UserMsg)]
        aborts = [msg.uid for msg in msgs if isinstance(msg, AbortBackendMsg)]
        lens = [len(msg.input_ids) for msg in msgs if isinstance(msg, UserMsg)]
        self._file.write(ArriveLine(self._file.now_us(), users, aborts, lens if self._file.redact else UNSET))


class MessageLog:
    """Records every message that one component takes in."""

    def __init__(self, target: RecordTarget, receiver: str) -> None:
        self._file = RecordFile(target)
        self._receiver = receiver

    def sent(self, link: str, msg: Message) -> None:
        pass

    def received(self, link: str, msgs: list[Single]) -> None:
        now = self._file.now_us()
        for msg in msgs:
            fields = {"type": type(msg).__name__, **msgspec.to_builtins(msg)}
            self._file.write(HopLine(now, self._receiver, fields))


def message_log(target: RecordTarget | None, receiver: str) -> LinkObserver:
    """Who watches the incoming link of ``receiver``: nobody, unless messages are recorded."""
    return NoObserver() if target is None or not target.messages else MessageLog(target, receiver)


class RecordingEngine:
    """An engine that records what it is asked and what it gives. ``eos_token_ids`` are no text."""

    def __init__(self, engine: Engine, file: RecordFile, eos_token_ids: frozenset[int]) -> None:
        self._engine = engine
        self._file = file
        self._shown = partial(redacted_tokens, eos=eos_token_ids) if file.redact else list[int]
        self._steps = 0

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    def forward_batch(self, batch: ForwardBatch) -> ForwardOutput:
        n, self._steps = self._steps, self._steps + 1
        self._file.write(
            StepLine(self._file.now_us(), n, batch.phase, list(batch.uids), batch.seq_lens.tolist())
        )
        return _RecordedTokens(self._engine.forward_batch(batch), self._file, n, self._shown)

    def close(self) -> None:
        self._engine.close()


class _RecordedTokens:
    def __init__(
        self, output: ForwardOutput, file: RecordFile, n: int, shown: Callable[[list[int]], list[int]]
    ) -> None:
        self._output = output
        self._file = file
        self._n = n
        self._shown = shown

    def next_tokens(self) -> list[int]:
        tokens = self._output.next_tokens()
        self._file.write(TokensLine(self._file.now_us(), self._n, self._shown(tokens)))
        return tokens

    def logprobs(self) -> Logprobs:
        return self._output.logprobs()
