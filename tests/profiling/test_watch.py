"""A watched scheduler says the same as another one, and its phases come in the order of its loop."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

from minisgl_tutor.engine.base import Engine, EngineInfo, ForwardOutput
from minisgl_tutor.engine.hashing import HashingEngine, HashingStep
from minisgl_tutor.links import MemoryChannel, MemoryPull, MemoryPush, SyncPull, SyncPush
from minisgl_tutor.message import Message, SamplingParams, UserMsg
from minisgl_tutor.profiling.account import account
from minisgl_tutor.profiling.timeline import Span, Timeline
from minisgl_tutor.profiling.watch import Watch
from minisgl_tutor.server.build import build_scheduler
from minisgl_tutor.server.config import SchedulerConfig, ServerArgs

INFO = EngineInfo(page_size=2, num_pages=60, num_slots=4, max_seq_len=60, vocab_size=40)


class Spans(list[Span]):
    def write(self, span: Span) -> None:
        self.append(span)

    def flush(self) -> None:
        pass


def run(
    overlap: bool, timeline: Timeline | None, is_running: Callable[[ForwardOutput], bool]
) -> list[Message]:
    """Two requests of three tokens each, to their end; what the scheduler said."""
    requests, replies = MemoryChannel("scheduler"), MemoryChannel("replies")
    engine: Engine = HashingEngine(INFO, lag=overlap)
    pull: SyncPull = MemoryPull(requests)
    push: SyncPush = MemoryPush(replies)
    if timeline is not None:
        watch = Watch(timeline)
        engine, pull, push = watch.engine(engine, is_running), watch.pull(pull), watch.push(push)
    args = ServerArgs(scheduler=SchedulerConfig(overlap=overlap, seed=0))
    scheduler = build_scheduler(args, engine, frozenset(), pull, push)
    for uid in range(2):
        MemoryPush(requests).put(UserMsg(uid, [1, 2, 3 + uid], SamplingParams(max_tokens=3)))
    scheduler.round()
    while scheduler.busy:
        scheduler.round()
    return list(MemoryPull(replies).drain(blocking=False))


def still_runs(output: ForwardOutput) -> bool:
    assert isinstance(output, HashingStep)
    return output.tokens is None


def profile(overlap: bool) -> tuple[Spans, list[Message]]:
    spans, ticks = Spans(), itertools.count()
    timeline = Timeline(spans, clock=lambda: next(ticks))
    said = run(overlap, timeline, still_runs)
    timeline.idle()
    return spans, said


@pytest.mark.parametrize("overlap", [False, True])
def test_watching_changes_nothing_and_leaves_no_gap(overlap: bool) -> None:
    spans, said = profile(overlap)
    assert said == run(overlap, None, still_runs) != []
    assert all(before.end_ns == after.begin_ns for before, after in itertools.pairwise(spans))


def test_without_overlap_a_step_is_read_before_the_next_is_planned() -> None:
    spans, _ = profile(overlap=False)
    phases = [(span.phase, span.step) for span in spans if span.phase in ("launch", "wait", "send")]
    assert phases == [(phase, step) for step in range(3) for phase in ("launch", "wait", "send")]
    launched = [span.what for span in spans if span.what]
    assert launched == ["prefill of 2", "decode of 2", "decode of 2"]
    assert not account(spans).hidden_s


def test_with_overlap_the_next_step_is_launched_before_one_is_read() -> None:
    spans, _ = profile(overlap=True)
    phases = [(span.phase, span.step) for span in spans if span.phase in ("launch", "wait")]
    assert phases == [
        ("launch", 0),
        ("launch", 1),
        ("wait", 0),
        ("launch", 2),
        ("wait", 1),
        ("wait", 2),
    ]
    assert account(spans).hidden_s > 0


def test_the_scheduler_idles_until_a_message_comes() -> None:
    spans, _ = profile(overlap=True)
    phases = [span.phase for span in spans if span.phase in ("idle", "receive", "launch")]
    assert phases == ["idle", "idle", "launch", "receive", "launch", "receive", "launch", "receive"]
