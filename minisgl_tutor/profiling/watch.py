"""What tells a timeline of a scheduler's phases: its two links and its engine, each in a thin coat.

The scheduler knows nothing of it, and without it nothing is measured.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..engine.base import Engine, EngineInfo, ForwardBatch, ForwardOutput, Logprobs
from ..links import SyncPull, SyncPush
from ..message import Message, Single
from .timeline import Timeline

IsRunning = Callable[[ForwardOutput], bool]
"""Whether the engine still computes the step, asked without waiting."""


def never_running(output: ForwardOutput) -> bool:
    """For an engine that computes a step before it gives its output."""
    return False


@dataclass
class Steps:
    """The step that is launched next, and the one whose result was read last."""

    next: int = 0
    read: int = 0


class Watch:
    """Gives what a scheduler is built of a coat, which tells the timeline what is done with it."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self._steps = Steps()

    def engine(self, engine: Engine, is_running: IsRunning = never_running) -> Engine:
        return WatchedEngine(engine, self.timeline, self._steps, is_running)

    def pull(self, pull: SyncPull) -> SyncPull:
        return WatchedPull(pull, self.timeline, self._steps)

    def push(self, push: SyncPush) -> SyncPush:
        return WatchedPush(push, self.timeline, self._steps)


class WatchedPull:
    """The scheduler's incoming link."""

    def __init__(self, pull: SyncPull, timeline: Timeline, steps: Steps) -> None:
        self._pull = pull
        self._timeline = timeline
        self._steps = steps

    def drain(self, blocking: bool) -> list[Single]:
        if blocking:
            self._timeline.idle()
        else:
            self._timeline.enter("receive", self._steps.next)
        msgs = self._pull.drain(blocking)
        self._timeline.enter("schedule", self._steps.next)
        return msgs

    def close(self) -> None:
        self._pull.close()


class WatchedPush:
    """The scheduler's outgoing link."""

    def __init__(self, push: SyncPush, timeline: Timeline, steps: Steps) -> None:
        self._push = push
        self._timeline = timeline
        self._steps = steps

    def put(self, msg: Message) -> None:
        self._timeline.enter("send", self._steps.read)
        self._push.put(msg)
        self._timeline.enter("postprocess", self._steps.read)

    def close(self) -> None:
        self._push.close()


class WatchedEngine:
    """The scheduler's engine."""

    def __init__(self, engine: Engine, timeline: Timeline, steps: Steps, is_running: IsRunning) -> None:
        self._engine = engine
        self._timeline = timeline
        self._steps = steps
        self._is_running = is_running

    @property
    def info(self) -> EngineInfo:
        return self._engine.info

    def forward_batch(self, batch: ForwardBatch) -> ForwardOutput:
        step = self._steps.next
        self._steps.next += 1
        self._timeline.enter("launch", step, f"{batch.phase} of {len(batch.uids)}")
        output = self._engine.forward_batch(batch)
        self._timeline.launched(step)
        return WatchedOutput(output, self._timeline, self._steps, step, self._is_running)

    def close(self) -> None:
        self._engine.close()


class WatchedOutput:
    """The result of a step, on its way."""

    def __init__(
        self,
        output: ForwardOutput,
        timeline: Timeline,
        steps: Steps,
        step: int,
        is_running: IsRunning,
    ) -> None:
        self._output = output
        self._timeline = timeline
        self._steps = steps
        self._step = step
        self._is_running = is_running

    def next_tokens(self) -> list[int]:
        self._timeline.wait(self._step, self._is_running(self._output))
        tokens = self._output.next_tokens()
        self._steps.read = self._step
        self._timeline.enter("postprocess", self._step)
        return tokens

    def logprobs(self) -> Logprobs:
        return self._output.logprobs()
