"""An engine slowed down, so that a person can watch a small model's tokens come."""

from __future__ import annotations

import time

from .base import Engine, EngineInfo, ForwardBatch, ForwardOutput, Logprobs


class SlowEngine:
    """Lets each step of another engine take ``step_ms`` milliseconds at least."""

    def __init__(self, engine: Engine, step_ms: int) -> None:
        self._engine = engine
        self._step_s = step_ms / 1000

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    def forward_batch(self, batch: ForwardBatch) -> ForwardOutput:
        begun = time.monotonic()
        return _SlowOutput(self._engine.forward_batch(batch), begun + self._step_s)

    def close(self) -> None:
        self._engine.close()


class _SlowOutput:
    def __init__(self, output: ForwardOutput, ready_at: float) -> None:
        self._output = output
        self._ready_at = ready_at

    def next_tokens(self) -> list[int]:
        tokens = self._output.next_tokens()
        time.sleep(max(0.0, self._ready_at - time.monotonic()))
        return tokens

    def logprobs(self) -> Logprobs:
        return self._output.logprobs()
