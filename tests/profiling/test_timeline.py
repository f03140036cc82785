"""A scheduler is in one phase at every moment; what hid behind the engine is counted once."""

from __future__ import annotations

from minisgl_tutor.profiling.timeline import Span, Timeline


class Script:
    """A clock that a test sets, in nanoseconds, and the spans that came."""

    def __init__(self) -> None:
        self.now = 1000
        self.spans: list[Span] = []
        self.flushed: list[int] = []
        self.timeline = Timeline(self, clock=lambda: self.now)

    def write(self, span: Span) -> None:
        self.spans.append(span)

    def flush(self) -> None:
        self.flushed.append(self.now)

    def at(self, now: int) -> Timeline:
        self.now = 1000 + now
        return self.timeline


def test_spans_follow_each_other_without_a_gap() -> None:
    script = Script()
    script.at(5).enter("receive", 0)
    script.at(7).enter("schedule", 0)
    script.at(7).enter("launch", 0)
    script.at(9).launched(0)
    assert script.spans == [
        Span("idle", 0, 5, 0),
        Span("receive", 5, 7, 0),
        Span("launch", 7, 9, 0),
    ]


def test_a_phase_within_another_returns_to_it() -> None:
    script = Script()
    script.at(0).enter("launch", 3, "decode of 2")
    with script.at(2).within("plan"):
        script.at(6)
    script.at(9).launched(3)
    launch = "decode of 2"
    assert script.spans == [
        Span("launch", 0, 2, 3, what=launch),
        Span("plan", 2, 6, 3),
        Span("launch", 6, 9, 3, what=launch),
    ]


def test_a_quiet_moment_is_for_the_sink() -> None:
    script = Script()
    script.at(4).enter("send", 1)
    script.at(6).idle()
    assert script.spans[-1] == Span("send", 4, 6, 1)
    assert script.flushed == [1006]


def test_work_hides_behind_a_step_that_still_runs() -> None:
    """Step 0 is launched at 10; then come 9 of work, of which 2 are behind the launch of step 1 as well."""
    script = Script()
    script.at(8).enter("launch", 0)
    script.at(10).launched(0)
    script.at(11).enter("receive", 1)
    script.at(14).enter("launch", 1)
    script.at(17).launched(1)
    script.at(19).wait(0, running=True)
    script.at(30).enter("postprocess", 0)
    assert script.spans[-1] == Span("wait", 19, 30, 0, hid_ns=9)
    # 4 more until step 1 is needed, and none of the 9 a second time.
    script.at(34).wait(1, running=True)
    script.at(35).enter("postprocess", 1)
    assert script.spans[-1] == Span("wait", 34, 35, 1, hid_ns=4)


def test_nothing_hides_behind_a_step_that_is_over() -> None:
    script = Script()
    script.at(0).launched(0)
    script.at(6).wait(0, running=False)
    script.at(7).enter("postprocess", 0)
    assert script.spans[-1] == Span("wait", 6, 7, 0, hid_ns=0)


def test_idling_is_no_work_that_could_hide() -> None:
    script = Script()
    script.at(0).launched(0)
    script.at(2).idle()
    script.at(50).enter("receive", 0)
    script.at(53).wait(0, running=True)
    script.at(54).enter("postprocess", 0)
    assert script.spans[-1].hid_ns == 5
