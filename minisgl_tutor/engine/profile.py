"""What only torch can tell a profile: when attention plans, whether a step still runs, and each operation."""

from __future__ import annotations

import gzip
import logging
from pathlib import Path

import torch
from torch import Tensor
from torch.profiler import ProfilerActivity, profile

from ..attention.base import AttentionBackend, AttentionBatch, AttentionPlan, Sink
from ..profiling.timeline import Timeline
from .base import Engine, EngineInfo, ForwardBatch, ForwardOutput
from .engine import TorchEngine, TorchOutput

SKIPPED_STEPS, TRACED_STEPS = 16, 32
TRACE_NAME = "engine.json.gz"

logger = logging.getLogger(__name__)


def is_running(output: ForwardOutput) -> bool:
    """Whether a GPU still computes the step. On a CPU it has run before its output is there."""
    return isinstance(output, TorchOutput) and output.copied is not None and not output.copied.query()


def watch_planning(engine: Engine, timeline: Timeline) -> None:
    """The timeline is told when ``engine`` plans attention for a step that is not a captured one."""
    if isinstance(engine, TorchEngine):
        engine.backend = WatchedBackend(engine.backend, timeline)


class WatchedBackend:
    """Attention whose planning is a phase of its own."""

    def __init__(self, backend: AttentionBackend, timeline: Timeline) -> None:
        self._backend = backend
        self._timeline = timeline

    def plan(self, batch: AttentionBatch) -> AttentionPlan:
        with self._timeline.within("plan"):
            return self._backend.plan(batch)

    def sink(self, layer: int, plan: AttentionPlan) -> Sink | None:
        return self._backend.sink(layer, plan)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, layer: int, plan: AttentionPlan) -> Tensor:
        return self._backend.forward(q, k, v, layer, plan)


class TorchTracedEngine:
    """An engine of which torch's profiler traces some steps, behind some that warm it up.

    The trace, ``engine.json.gz`` in ``directory``, is written when the last of them is over.
    """

    def __init__(
        self, engine: Engine, directory: Path, skipped: int = SKIPPED_STEPS, traced: int = TRACED_STEPS
    ) -> None:
        self._engine = engine
        self._directory = directory
        self._first, self._end = skipped, skipped + traced
        self._steps = 0
        activities = [ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(ProfilerActivity.CUDA)
        self._profile = profile(activities=activities)

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    def forward_batch(self, batch: ForwardBatch) -> ForwardOutput:
        if self._steps == self._first:
            self._profile.start()
        elif self._steps == self._end:
            self._write()
        self._steps += 1
        return self._engine.forward_batch(batch)

    def close(self) -> None:
        """Writes what there is of a trace that is not whole."""
        if self._first < self._steps <= self._end:
            self._write()
        self._engine.close()

    def _write(self) -> None:
        self._profile.stop()
        path = self._directory / TRACE_NAME
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._profile.export_chrome_trace(str(path))
            # torch says nothing of a disk that is full.
            if not _is_whole(path):
                raise OSError("no room for all of it")
        except (OSError, EOFError, RuntimeError) as error:
            logger.error("%s cannot be written: %s", path, error)
        else:
            logger.info("%s has steps %d to %d; Perfetto opens it", path, self._first, self._steps - 1)


def _is_whole(path: Path) -> bool:
    """Whether a compressed JSON object comes to its end."""
    end = b""
    with gzip.open(path) as file:
        while data := file.read(1 << 20):
            end = (end + data)[-16:]
    return end.rstrip().endswith(b"}")
