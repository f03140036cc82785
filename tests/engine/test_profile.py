"""Planning is seen from within an engine, and torch traces the steps that it is told to."""

from __future__ import annotations

import gzip
import itertools
import json
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from minisgl_tutor.engine.profile import TRACE_NAME, TorchTracedEngine, is_running, watch_planning
from minisgl_tutor.profiling.timeline import Span, Timeline

Build = Callable[..., Any]


class Spans(list[Span]):
    def write(self, span: Span) -> None:
        self.append(span)

    def flush(self) -> None:
        pass


def test_planning_is_a_phase_within_the_launch(build: Build) -> None:
    hand, spans, ticks = build("llama-tied"), Spans(), itertools.count()
    timeline = Timeline(spans, clock=lambda: next(ticks))
    before = hand.engine.forward_batch(hand.batch("prefill", [(0, 0, 3)], [5, 6, 7])).next_tokens()
    watch_planning(hand.engine, timeline)
    timeline.enter("launch", 4)
    output = hand.engine.forward_batch(hand.batch("prefill", [(1, 0, 3)], [5, 6, 7]))
    timeline.launched(4)
    assert [(span.phase, span.step) for span in spans[1:]] == [("launch", 4), ("plan", 4), ("launch", 4)]
    assert not is_running(output)
    assert output.next_tokens() == before


def steps(hand: Any, engine: Any, count: int) -> None:
    engine.forward_batch(hand.batch("prefill", [(0, 0, 3)], [5, 6, 7]))
    for end in range(4, 3 + count):
        engine.forward_batch(hand.batch("decode", [(0, end - 1, end)]))


@pytest.mark.parametrize("count, traced", [(4, 2), (2, 1)])
def test_so_many_steps_are_traced(build: Build, tmp_path: Path, count: int, traced: int) -> None:
    """Two behind the first; what is there when the engine closes, if there are fewer."""
    hand = build("llama-tied")
    engine = TorchTracedEngine(hand.engine, tmp_path / "new", skipped=1, traced=2)
    steps(hand, engine, count)
    engine.close()
    with gzip.open(tmp_path / "new" / TRACE_NAME) as file:
        names = [event.get("name") for event in json.load(file)["traceEvents"]]
    # The token's embedding is looked up once a step.
    assert names.count("aten::embedding") == traced


def test_a_run_that_is_too_short_leaves_no_trace(build: Build, tmp_path: Path) -> None:
    hand = build("llama-tied")
    engine = TorchTracedEngine(hand.engine, tmp_path, skipped=5, traced=2)
    steps(hand, engine, 3)
    engine.close()
    assert not list(tmp_path.iterdir())


def test_a_trace_for_which_there_is_no_room_is_not_said_to_be_there(
    build: Build, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hand = build("llama-tied")
    engine = TorchTracedEngine(hand.engine, tmp_path, skipped=1, traced=2)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        steps(hand, engine, 4)
        engine.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [record.levelname for record in caplog.records] == ["ERROR"]
    assert "cannot be written: no room for all of it" in caplog.text
