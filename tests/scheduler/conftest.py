"""A scheduler on links in memory, with an engine that plays back tokens and notes what it was asked."""

from __future__ import annotations

import importlib.util
import logging
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from minisgl_tutor.engine.base import EngineError, EngineInfo, ForwardBatch
from minisgl_tutor.links import MemoryChannel, MemoryPull, MemoryPush
from minisgl_tutor.message import AbortBackendMsg, DetokenizeMsg, SamplingParams, Single, UserMsg
from minisgl_tutor.scheduler.problems import IntegrityError
from minisgl_tutor.scheduler.scheduler import Scheduler
from minisgl_tutor.server.config import SchedulerConfig

EOS = 2
FUZZ = Path(__file__).parents[2] / "scripts" / "fuzz_scheduler.py"


class Step:
    def __init__(self, engine: ScriptedEngine, batch: ForwardBatch) -> None:
        self._engine = engine
        self._batch = batch

    def next_tokens(self) -> list[int]:
        self._engine.log.append(("read", self._batch.uids))
        return [
            self._engine.token(uid, end) if emits else -1
            for uid, end, emits in zip(
                self._batch.uids, self._batch.seq_lens.tolist(), self._batch.emits.tolist(), strict=True
            )
        ]


class ScriptedEngine:
    """Gives ``script[uid]`` token by token, and 10, 11, 12... for a uid without one or past its end."""

    def __init__(self, info: EngineInfo, script: dict[int, list[int]]) -> None:
        self.info = info
        self.script = script
        self.batches: list[ForwardBatch] = []
        self.log: list[tuple[str, list[int]]] = []
        self._first: dict[int, int] = {}

    def forward_batch(self, batch: ForwardBatch) -> Step:
        self.batches.append(batch)
        self.log.append((batch.phase, batch.uids))
        return Step(self, batch)

    def token(self, uid: int, position: int) -> int:
        index = position - self._first.setdefault(uid, position)
        tokens = self.script.get(uid, [])
        return tokens[index] if index < len(tokens) else 10 + index

    def close(self) -> None:
        pass

    @property
    def steps(self) -> list[tuple[str, list[int]]]:
        """Phase and uids of each step."""
        return [(batch.phase, batch.uids) for batch in self.batches]


class Rig:
    def __init__(
        self,
        scheduler_class: type[Scheduler] = Scheduler,
        engine: Any = None,
        script: dict[int, list[int]] | None = None,
        page_size: int = 4,
        num_pages: int = 32,
        num_slots: int = 4,
        max_seq_len: int = 64,
        vocab_size: int = 100,
        **config: Any,
    ) -> None:
        info = EngineInfo(page_size, num_pages, num_slots, max_seq_len, vocab_size)
        self.engine = engine(info) if engine else ScriptedEngine(info, script or {})
        self.inbox, self.outbox = MemoryChannel("in"), MemoryChannel("out")
        self.scheduler = scheduler_class(
            self.engine,
            SchedulerConfig(**{"seed": 0, **config}),
            frozenset({EOS}),
            MemoryPull(self.inbox),
            MemoryPush(self.outbox),
        )
        self._out = MemoryPull(self.outbox)

    def send(self, uid: int, prompt: list[int] | int, max_tokens: int = 3, **params: Any) -> None:
        """A request; a number as prompt stands for so many tokens, different for each uid."""
        if isinstance(prompt, int):
            prompt = [(uid * 7 + index) % 50 + 3 for index in range(prompt)]
        MemoryPush(self.inbox).put(UserMsg(uid, prompt, SamplingParams(max_tokens=max_tokens, **params)))

    def abort(self, uid: int) -> None:
        MemoryPush(self.inbox).put(AbortBackendMsg(uid))

    def round(self, count: int = 1) -> list[Single]:
        """So many rounds, the books checked after each; their replies."""
        for _ in range(count):
            self.scheduler.round()
            self.scheduler.check_integrity()
        return self._out.drain(blocking=False)

    def finish(self) -> list[Single]:
        """Rounds until nothing is left to do; their replies."""
        replies: list[Single] = []
        for _ in range(1000):
            if not (self.scheduler.busy or self.inbox.frames):
                return replies
            replies += self.round()
        raise AssertionError(f"still busy: {self.scheduler.held()}")

    def assert_all_free(self) -> None:
        """Nothing is held, every slot is free, and every page is free or evictable."""
        assert self.scheduler.held() == {}
        assert len(self.scheduler.table_manager.free_slots) == self.engine.info.num_slots
        assert self.scheduler.cache_manager.available == self.engine.info.num_pages


@pytest.fixture
def make_rig() -> Callable[..., Rig]:
    return Rig


@pytest.fixture
def tokens_of() -> Callable[[list[Single], int], list[int]]:
    """The tokens that a list of replies has for a uid."""

    def tokens_of(replies: list[Single], uid: int) -> list[int]:
        return [
            msg.next_token
            for msg in replies
            if isinstance(msg, DetokenizeMsg) and msg.uid == uid and msg.next_token is not None
        ]

    return tokens_of


@pytest.fixture
def ends_of() -> Callable[[list[Single], int], list[str | None]]:
    """The reasons of all terminal replies that a list has for a uid; the code of an error."""

    def ends_of(replies: list[Single], uid: int) -> list[str | None]:
        return [
            msg.finish_reason if isinstance(msg, DetokenizeMsg) else msg.code
            for msg in replies
            if msg.uid == uid and msg.finished
        ]

    return ends_of


@pytest.fixture
def as_ids() -> Callable[[list[int]], np.ndarray]:
    return lambda tokens: np.array(tokens, np.int32)


@pytest.fixture(scope="module")
def fuzz() -> Iterator[ModuleType]:
    """The script that plays random schedules."""
    spec = importlib.util.spec_from_file_location("fuzz_scheduler", FUZZ)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    # Duplicates and stray messages are logged as errors; there are many of them.
    logger = logging.getLogger("minisgl_tutor.scheduler.scheduler")
    logger.setLevel(logging.CRITICAL)
    yield module
    logger.setLevel(logging.NOTSET)
    del sys.modules[spec.name]


@pytest.fixture
def faults(fuzz: ModuleType) -> Callable[..., Iterator[Exception]]:
    """What random schedules find wrong with a class of schedulers."""

    def faults(broken: type[Scheduler], check_books: bool = True) -> Iterator[Exception]:
        for seed in range(600):
            try:
                fuzz.Fuzz(seed, broken, check_books).play()
            except (fuzz.Wrong, IntegrityError, EngineError, KeyError, ValueError, AssertionError) as error:
                yield error

    return faults
