"""Ranks as threads of one process, with the real engine, scheduler and links in each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from minisgl_tutor.links.memory import MemoryChannel, MemoryPull, MemoryPush  # noqa: E402
from minisgl_tutor.links.relay import NoPush, ZmqRelay, ZmqRelayedPull  # noqa: E402
from minisgl_tutor.links.zmq_queue import ZmqPullQueue, ZmqPushQueue  # noqa: E402
from minisgl_tutor.message import DetokenizeMsg, Message  # noqa: E402
from minisgl_tutor.scheduler.scheduler import Scheduler  # noqa: E402
from minisgl_tutor.server.config import SchedulerConfig, ServerArgs  # noqa: E402


class Table:
    """Where the threads of one group meet."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size, timeout=30)
        self.values: list[Any] = [None] * size

    def exchange(self, rank: int, value: Any) -> list[Any]:
        self.values[rank] = value
        self.barrier.wait()
        values = list(self.values)
        self.barrier.wait()
        return values


class ThreadGroup:
    """A ``Group`` of threads."""

    def __init__(self, rank: int, table: Table) -> None:
        self.rank = rank
        self.size = table.size
        self._table = table

    def all_reduce(self, x: Any) -> Any:
        first, *others = self._table.exchange(self.rank, x)
        return sum(others, first)

    def all_gather(self, x: Any) -> Any:
        return torch.cat(self._table.exchange(self.rank, x), dim=1)

    def smallest(self, value: int) -> int:
        return min(self._table.exchange(self.rank, value))


class Rank:
    """A scheduler over its engine. ``steps`` are the uids of each batch that it ran."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self.steps: list[tuple[str, list[int]]] = []
        forward = scheduler.engine.forward_batch

        def noted(batch: Any) -> Any:
            self.steps.append((batch.phase, list(batch.uids)))
            return forward(batch)

        scheduler.engine.forward_batch = noted  # type: ignore[method-assign]


class Ranks:
    """All ranks of a model. ``play`` gives them rounds, each with the messages that come before it."""

    def __init__(self, args: ServerArgs, engines: list[Any], directory: Path) -> None:
        addresses = [f"ipc://{directory / str(rank)}" for rank in range(len(engines))]
        pulls: list[Any] = [ZmqRelayedPull(address, "relayed") for address in addresses[1:]]
        relay = ZmqRelay(addresses[1:])
        first = ZmqPullQueue(addresses[0], "scheduler", relay=relay)
        self._push = ZmqPushQueue(addresses[0], "scheduler")
        self._answers = MemoryChannel("answers")
        pushes: list[Any] = [MemoryPush(self._answers), *(NoPush() for _ in pulls)]
        self.ranks = [
            Rank(Scheduler(engine, args.scheduler, frozenset({2}), pull, push))
            for engine, pull, push in zip(engines, [first, *pulls], pushes, strict=True)
        ]
        self._links = [*pulls, relay, first, self._push]

    def play(self, script: list[list[Message]]) -> dict[int, list[DetokenizeMsg]]:
        """The replies by uid. Ends when nothing is left to do."""
        replies: dict[int, list[DetokenizeMsg]] = {}
        with ThreadPoolExecutor(len(self.ranks)) as pool:
            while script or self.ranks[0].scheduler.busy:
                for msg in script.pop(0) if script else []:
                    self._push.put(msg)
                    self.ranks[0].scheduler._recv_tokenizer.wait([])  # type: ignore[attr-defined]
                for done in [pool.submit(rank.scheduler.round) for rank in self.ranks]:
                    done.result()
                for reply in MemoryPull(self._answers).drain(blocking=False):
                    assert isinstance(reply, DetokenizeMsg)
                    replies.setdefault(reply.uid, []).append(reply)
        for rank in self.ranks:
            rank.scheduler.check_integrity()
            assert rank.scheduler.held() == {}
        return replies

    def close(self) -> None:
        for link in self._links:
            link.close()


@pytest.fixture(scope="session")
def engines() -> Callable[..., list[Any]]:
    """``engines(size)``: those of the shipped model's ranks in float32, each built in a thread."""
    from minisgl_tutor.engine.build import build_engine

    args = ServerArgs(
        dtype="float32", threads=1, page_size=4, num_pages=28, max_running_req=6, max_seq_len=100
    )
    built: dict[int, list[Any]] = {}

    def build(size: int) -> list[Any]:
        if size not in built:
            table = Table(size)
            with ThreadPoolExecutor(size) as pool:
                groups = [ThreadGroup(rank, table) for rank in range(size)]
                built[size] = list(pool.map(lambda group: build_engine(args, group), groups))
        return built[size]

    return build


@pytest.fixture
def ranks(engines: Callable[..., list[Any]], tmp_path: Path) -> Iterator[Callable[..., Ranks]]:
    """``ranks(size, **scheduler's settings)``."""
    made: list[Ranks] = []

    def make(size: int, **settings: Any) -> Ranks:
        directory = tmp_path / str(len(made))
        directory.mkdir()
        args = replace(ServerArgs(), scheduler=SchedulerConfig(**{"seed": 5, **settings}))
        made.append(Ranks(args, engines(size), directory))
        return made[-1]

    yield make
    for one in made:
        one.close()
