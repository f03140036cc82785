"""The rigs of other rooms, for faults that were reported of servers of this kind (``docs/cases.md``)."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from minisgl_tutor.engine.base import EngineInfo, ForwardBatch
from minisgl_tutor.engine.hashing import HashingEngine, HashingStep

TESTS = Path(__file__).parents[1]


def rigs_of(room: str) -> ModuleType:
    name = f"rigs_of_{room.replace('/', '_')}"
    spec = spec_from_file_location(name, TESTS / room / "conftest.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


_protocol = rigs_of("server/conformance")
_scheduler = rigs_of("scheduler")
_tokenizer = rigs_of("tokenizer")
_processes = rigs_of("server/launch")

serving, events = _protocol.serving, _protocol.events
make_rig, tokens_of, ends_of, as_ids = (
    _scheduler.make_rig,
    _scheduler.tokens_of,
    _scheduler.ends_of,
    _scheduler.as_ids,
)
byte_library, byte_tokenizer = _tokenizer.byte_library, _tokenizer.byte_tokenizer
fallback_library, fallback_tokenizer = _tokenizer.fallback_library, _tokenizer.fallback_tokenizer
start_server, until = _processes.start_server, _processes.until


@pytest.fixture
def scripted() -> Callable[..., Any]:
    """An engine of these sizes that plays the scripts of each uid."""

    def scripted(info: EngineInfo, scripts: dict[int, Sequence[int]] | None = None) -> Any:
        return _protocol.ScriptedEngine(info, scripts or {})

    return scripted


class OnTime(HashingEngine):
    """Each step takes 10 ms of virtual time."""

    read_until_us = 0

    def forward_batch(self, batch: ForwardBatch) -> HashingStep:
        self.read_until_us = round(asyncio.get_running_loop().time() * 1e6) + 10_000
        return super().forward_batch(batch)

    def next_event_us(self) -> None:
        return None


@pytest.fixture
def hashing() -> Callable[[EngineInfo], OnTime]:
    """An engine of these sizes whose next token is a hash of all that its row reads."""
    return lambda info: OnTime(info, lag=True)
