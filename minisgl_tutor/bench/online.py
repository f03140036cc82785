"""The online benchmark: a load on a running server, and latencies and throughput as its clients see them.

The client is one process with one thread. ``scripts/measure_bench_client.py`` says
how many tokens a second it can take in; a run says how busy it was.
"""

from __future__ import annotations

import gc
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from ..language import Sentence, sentence_of
from .answer import Answer, RequestFailed
from .asks import Ask
from .figures import figures, record
from .http import NO_CONNECTION, HttpTransport
from .load import Load, Watcher

MakeAsks = Callable[[str], list[Ask]]
"""The requests for a model of that name."""


class NoServer(RuntimeError):
    """There is no server to measure. Made with a ``Sentence`` for the user."""


@dataclass(frozen=True)
class Target:
    """A server. Without a ``model`` it is asked for its first one. ``timeout_s`` bounds each request."""

    url: str
    api_key: str | None = None
    model: str | None = None
    timeout_s: float = 600.0


@dataclass(frozen=True)
class Way:
    """What is asked, and how: each request when it is due if ``timed``, else ``concurrency`` at a time.

    Those of ``warm_up`` go before, one after the other, and are not counted.
    """

    asks: MakeAsks
    warm_up: MakeAsks
    timed: bool = False
    concurrency: int | None = None


@dataclass(frozen=True)
class Run:
    """The answers in the order in which they ended, and the processor time that their client took."""

    model: str
    answers: Sequence[Answer]
    cpu_s: float
    timed: bool


async def measure(target: Target, way: Way, watcher: Watcher) -> Run:
    """Warms up, and then puts the load on.

    Raises:
        NoServer: there is none, or it answers no request of the warm-up.
    """
    try:
        transport = HttpTransport(target.url, target.api_key)
    except ValueError as error:
        raise NoServer(sentence_of(error)) from None
    async with transport:
        model = target.model or await _ask_model(transport, target.url)
        for answer in await Load(transport, target.timeout_s).at_once(way.warm_up(model), 1):
            if answer.failure is not None:
                raise NoServer(
                    Sentence(
                        "{url} fails in the warm-up: {reason}", url=target.url, reason=answer.failure.told
                    )
                )
        asks = way.asks(model)
        load = Load(transport, target.timeout_s, watcher)
        # A full collection would stop every stream for a while.
        gc.collect()
        gc.freeze()
        begin = time.process_time()
        answers = await (
            load.when_due(asks) if way.timed else load.at_once(asks, way.concurrency or len(asks))
        )
        return Run(model, answers, time.process_time() - begin, way.timed)


async def _ask_model(transport: HttpTransport, url: str) -> str:
    try:
        return await transport.model()
    except RequestFailed as failure:
        if failure.kind == NO_CONNECTION:
            raise NoServer(
                Sentence(
                    "no server answers at {url} ({reason}); give another --url",
                    url=url,
                    reason=sentence_of(failure),
                )
            ) from None
        raise NoServer(
            Sentence("{url} does not name its model ({reason}); give --model", url=url, reason=failure.told)
        ) from None


def report(run: Run, options: dict[str, Any]) -> dict[str, Any]:
    """All that makes the figures comparable, and each request."""
    return {
        "benchmark": "serve",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "client": f"{platform.machine()}, Python {platform.python_version()}, aiohttp {version('aiohttp')}",
        "model": run.model,
        "options": options,
        **figures(run.answers, run.cpu_s, run.timed),
        "answers": [record(answer) for answer in sorted(run.answers, key=lambda answer: answer.sent_s)],
    }
