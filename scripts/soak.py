"""Thousands of requests on the stage, a third of whose clients leave at a random moment: nothing may be left.

    python scripts/soak.py --requests 2000 --seed 0

The components are those of the server, on links in memory and a virtual clock; the model is a hash of what
its row makes it read. Clients come at random times, stream or not, under either ASGI version, and those
that leave do so before the scheduler has the request, in the queue, in prefill, between two tokens, while a
chunk is written to a client that reads slowly, or at the end. Checked: every client that stays has a whole
answer; one abort was sent for each that left before its end, and none for any other; no component holds
anything; all pages and slots are free; the log has no warning, and no line a token.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import math
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field

from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as LibraryTokenizer

from minisgl_tutor.engine.base import EngineInfo, ForwardBatch
from minisgl_tutor.engine.hashing import HashingEngine, HashingStep
from minisgl_tutor.server.config import SchedulerConfig, ServerArgs
from minisgl_tutor.tokenizer.pieces import byte_letters
from minisgl_tutor.tokenizer.template import ChatTemplate
from minisgl_tutor.tokenizer.tokenizer import Tokenizer
from minisgl_tutor.trace.asgi import AsgiClient, ClientEvent, Exchange, Reader
from minisgl_tutor.trace.clock import run
from minisgl_tutor.trace.stage import Stage
from minisgl_tutor.trace.steps import Step

EOS = 256
STEP_US = 1_000
GAP_US = 4_500
"""Between two clients, on average: about as many come as are served."""

AT_ONCE_S = 0.002
"""A leaving is dealt with within so much virtual time, or comes too late to matter."""

WANT_TO_LEAVE = 0.5
"""Some of those come too late: about a third leaves."""

INFO = EngineInfo(page_size=4, num_pages=160, num_slots=16, max_seq_len=200, vocab_size=257)
TEMPLATE = "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }}\n{% endfor %}"


class OneMillisecondEngine(HashingEngine):
    """Each step takes a millisecond of virtual time."""

    read_until_us = 0

    def forward_batch(self, batch: ForwardBatch) -> HashingStep:
        self.read_until_us = round(asyncio.get_running_loop().time() * 1e6) + STEP_US
        return super().forward_batch(batch)

    def next_event_us(self) -> None:
        return None


class Warnings(logging.Handler):
    """Counts what is logged, and keeps what is a warning or worse."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines = 0
        self.bad: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += record.levelno >= logging.INFO
        if record.levelno >= logging.WARNING:
            self.bad.append(record.getMessage())


@dataclass
class Soak:
    """One run. ``wrong`` says what must not have happened; ``met`` counts what did."""

    requests: int
    seed: int
    gaps: tuple[str, ...] = ()
    wrong: list[str] = field(default_factory=list)
    met: Counter[str] = field(default_factory=Counter)
    log: Warnings = field(default_factory=Warnings)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._aborts: Counter[int] = Counter()
        self._ended: dict[int, float] = {}
        self._left: dict[int, float] = {}
        self._number: ContextVar[int] = ContextVar("client")
        self._uids: dict[int, int] = {}
        self._clients: list[tuple[Exchange, bool]] = []

    def run(self) -> None:
        logger = logging.getLogger("minisgl_tutor")
        level = logger.level
        logger.addHandler(self.log)
        logger.setLevel(logging.INFO)
        try:
            run(self._main)
        finally:
            logger.removeHandler(self.log)
            logger.setLevel(level)

    async def _main(self) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: self.wrong.append(f"an error: {context}"))
        config = SchedulerConfig(prefill_budget=32, overlap=True, seed=self.seed, head_room=8)
        args = ServerArgs(num_tokenizer=2, scheduler=config, gaps=self.gaps)
        engine = OneMillisecondEngine(INFO, lag=True)
        self.stage = Stage(
            args, "toy", toy_tokenizer(), frozenset({EOS}), engine, self._stamp, on_step=self._note
        )
        asgi = {
            version: AsgiClient(self.stage.app, spec_version=version, high_water=2_000, observer=self._seen)
            for version in ("2.3", "2.4")
        }
        driver = asyncio.create_task(self.stage.drive_scheduler())
        for number in range(self.requests):
            await asyncio.sleep(self._random.expovariate(1e6 / GAP_US))
            self._number.set(number)
            leaves = self._random.random() < WANT_TO_LEAVE
            client = asgi[self._random.choice(["2.3", "2.4"])]
            self._clients.append((self._ask(client, leaves), leaves))
            self.stage.tracer.steps.clear()
        for exchange, _ in self._clients:
            await exchange.wait_app()
        while not self.stage.quiet:
            await asyncio.sleep(1)
        await asyncio.sleep(1)
        driver.cancel()
        self._check()

    def _ask(self, client: AsgiClient, leaves: bool) -> Exchange:
        pick = self._random
        body = {
            "model": "m",
            "messages": [
                {"role": "user", "content": f"{len(self._clients)}{'x' * pick.choice([1, 9, 60, 130])}"}
            ],
            "max_tokens": pick.choice([1, 2, 8, 30]),
            "stream": pick.random() < 0.7,
            "ignore_eos": pick.random() < 0.5,
        }
        return client.request(
            "POST",
            "/v1/chat/completions",
            headers={"content-type": "application/json"},
            body=json.dumps(body).encode(),
            reader=self._reader(leaves, asyncio.get_running_loop().now_us()),  # type: ignore[attr-defined]
        )

    def _reader(self, leaves: bool, now_us: int) -> Reader:
        slowly = self._random.choice([0, 0, 500, 5_000])
        if not leaves:
            return Reader(us_per_chunk=slowly)
        if self._random.random() < 0.4:
            return Reader(us_per_chunk=slowly, leaves_before_chunk=self._random.choice([0, 1, 2, 7, 29, 31]))
        after = self._random.choice([1, 30, 50, 500, STEP_US, 5_000, 20_000, 60_000])
        return Reader(us_per_chunk=slowly, leaves_at_us=now_us + self._random.randrange(after))

    def _stamp(self, uid: int) -> tuple[str, int]:
        self._uids[self._number.get()] = uid
        return f"stamp{uid}", 0

    def _seen(self, exchange: Exchange, event: ClientEvent) -> None:
        if event.kind == "left":
            number = next((i for i, (each, _) in enumerate(self._clients) if each is exchange), None)
            uid = self._uids.get(-1 if number is None else number)
            self.met[f"left {self._moment(uid)}"] += 1
            if uid is not None:
                self._left[uid] = asyncio.get_running_loop().time()

    def _moment(self, uid: int | None) -> str:
        """What was going on for a request."""
        if uid is None:
            return "before it was sent on"
        if uid in self._ended:
            return "behind its last token"
        held = self.stage.scheduler.held().get(uid, {})
        if "running" in held:
            return "in decode"
        if "waiting" in held:
            return "in prefill" if "slot" in held else "in the queue"
        return "on the way" if not held else "while it drained"

    def _note(self, step: Step) -> None:
        for content in step.content:
            if step.title == "AbortMsg":
                self._aborts[step.uids[0]] += 1
            elif step.target == "api" and content.get("finished"):
                self._ended[content["uid"]] = asyncio.get_running_loop().time()

    def _check(self) -> None:
        stage = self.stage
        for component, held in stage.held().items():
            if held:
                self.wrong.append(f"{component} holds {held}")
        stage.scheduler.check_integrity()
        if stage.scheduler.cache_manager.room != INFO.num_pages:
            self.wrong.append(f"only {stage.scheduler.cache_manager.room} pages can be used")
        if len(stage.scheduler.table_manager.free_slots) != INFO.num_slots:
            self.wrong.append("not all slots are free")
        submitted = stage.frontend.uid_counter
        for uid in range(submitted):
            if self._aborts[uid] + (uid in self._ended) == 0:
                self.wrong.append(f"request {uid} had neither an end nor an abort")
            if not self._aborts[uid] and self._left.get(uid, math.inf) < self._ended.get(uid, 0) - AT_ONCE_S:
                self.wrong.append(f"the client of request {uid} left, and it ran on to its end")
            if self._aborts[uid] > 1:
                self.wrong.append(f"request {uid} had {self._aborts[uid]} aborts")
        left = sum(any(event.kind == "left" for event in exchange.events) for exchange, _ in self._clients)
        for number, (exchange, leaves) in enumerate(self._clients):
            if exchange.app_traceback:
                self.wrong.append(f"client {number}: {exchange.app_traceback}")
            if not leaves and not (exchange.status == 200 and exchange.events[-1].kind != "truncated"):
                self.wrong.append(
                    f"client {number} stayed and has {exchange.status}: {exchange.body[-200:]!r}"
                )
        if sum(self._aborts.values()) > left:
            self.wrong.append(f"{left} clients left, {sum(self._aborts.values())} aborts were sent")
        self.wrong += self.log.bad
        if self.log.lines > left:
            self.wrong.append(f"{self.log.lines} lines in the log, of {left} clients that left")
        self.met["clients"] = self.requests
        self.met["submitted"] = submitted
        self.met["clients that left"] = left
        self.met["aborts"] = sum(self._aborts.values())
        self.met["log lines"] = self.log.lines


def toy_tokenizer() -> Tokenizer:
    """A byte is a token."""
    library = LibraryTokenizer(models.BPE(vocab=byte_letters(), merges=[]))
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    library.decoder = decoders.ByteLevel()
    library.add_special_tokens([AddedToken("<|eos|>", special=True)])
    return Tokenizer(library, ChatTemplate(TEMPLATE, {}), eos_token="<|eos|>")


def report(soak: Soak, seconds: float) -> Iterator[str]:
    yield ", ".join(f"{name}: {count:,}" for name, count in soak.met.items()) + f"; {seconds:.0f} s"
    yield from soak.wrong[:20]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--requests", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    soak, begin = Soak(options.requests, options.seed), time.perf_counter()
    soak.run()
    print("\n".join(report(soak, time.perf_counter() - begin)))
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
