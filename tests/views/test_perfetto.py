"""The trace format: what Perfetto needs in order to draw it."""

from __future__ import annotations

import io
import json
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from minisgl_tutor.trace.steps import Step
from minisgl_tutor.views.perfetto import write_perfetto
from minisgl_tutor.views.shown import ShownScene

Maker = Callable[..., Step]
SCENES = ("05-http-service/02-interleaved", "02-request-journey/01-journey")
NEEDED = {"X": {"dur", "name"}, "s": {"id"}, "f": {"id", "bp"}, "b": {"id", "cat"}, "e": {"id", "cat"}}


def events_of(*scenes: ShownScene) -> list[dict[str, Any]]:
    out = io.BytesIO()
    write_perfetto(out, scenes)
    found: list[dict[str, Any]] = json.loads(out.getvalue())["traceEvents"]
    return found


@pytest.fixture
def events(shown: Callable[[str], ShownScene]) -> list[dict[str, Any]]:
    return events_of(*(shown(name) for name in SCENES))


def test_every_event_has_what_its_kind_needs(events: list[dict[str, Any]]) -> None:
    assert Counter(event["ph"] for event in events).keys() == set("XsfbeCiM")
    for event in events:
        assert all(type(event[name]) is int and event[name] >= 0 for name in ("ts", "pid", "tid"))
        assert NEEDED.get(event["ph"], set()) <= event.keys()
    named = {event["pid"] for event in events if event["ph"] == "M" and event["name"] == "process_name"}
    assert named == {event["pid"] for event in events}


def test_flows_and_requests_begin_once_and_end_once_and_later(events: list[dict[str, Any]]) -> None:
    for begin, end in (("s", "f"), ("b", "e")):
        begins, ends = (
            {event["id"]: event["ts"] for event in events if event["ph"] == phase} for phase in (begin, end)
        )
        assert begins.keys() == ends.keys() and begins
        assert len(begins) == sum(event["ph"] == begin for event in events)
        assert all(begins[key] <= ends[key] for key in begins)


def test_each_end_of_a_flow_lies_in_a_slice(events: list[dict[str, Any]]) -> None:
    begins = {(event["pid"], event["tid"], event["ts"]) for event in events if event["ph"] == "X"}
    for event in events:
        if event["ph"] in "sf":
            assert (event["pid"], event["tid"], event["ts"]) in begins


def test_slices_of_a_thread_lie_in_each_other_or_apart(events: list[dict[str, Any]]) -> None:
    slices = sorted((event["pid"], event["ts"], -event["dur"]) for event in events if event["ph"] == "X")
    for (pid, begin, minus), (other, later, minus_later) in pairwise(slices):
        assert pid != other or later >= begin - minus or later - minus_later <= begin - minus


def test_engine_steps_follow_each_other_and_end_when_their_tokens_are_read(
    shown: Callable[[str], ShownScene],
) -> None:
    scene = shown(SCENES[1])
    calls = [step for step in scene.steps if step.kind == "call"]
    found = [event for event in events_of(scene) if event["ph"] == "X" and "rows" in event["name"]]
    assert [event["ts"] + event["dur"] for event in found] == [step.ended_us for step in calls]
    assert found[0]["name"].startswith("prefill") and found[-1]["name"].startswith("decode")


def test_counters_add_up_what_all_requests_hold(make_step: Maker) -> None:
    steps = [
        make_step(1, after={"scheduler": {1: {"pages": 2}, 2: {"pages": 3, "slot": 1}}}),
        make_step(2, after={"scheduler": {1: {"pages": 2}}}),
        make_step(3, after={"scheduler": {1: {"pages": 2}}}),
    ]
    counters = [event for event in events_of(ShownScene("toy", "Toy", (), steps)) if event["ph"] == "C"]
    assert [(event["ts"], event["args"]) for event in counters] == [
        (15, {"pages": 5, "slot": 1}),
        (25, {"pages": 2, "slot": 0}),
    ]


def test_a_message_that_nobody_took_in_has_no_flow(make_step: Maker) -> None:
    events = events_of(ShownScene("toy", "Toy", (), [make_step(1, arrived_us=None)]))
    assert not [event for event in events if event["ph"] in "sf"]
    assert len([event for event in events if event["ph"] == "X"]) == 1


def test_nothing_at_all_is_a_valid_file() -> None:
    assert events_of() == []
    assert events_of(ShownScene("empty", "Empty", (), [])) == []
