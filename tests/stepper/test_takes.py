"""What may go on otherwise at a step, and where a fork is shown from."""

from __future__ import annotations

import pytest

from minisgl_tutor.gaps import GAPS
from minisgl_tutor.stepper.takes import Take, beginning, fork_of, gap_labels, ways, with_gap
from minisgl_tutor.views.cursor import Cursor


@pytest.fixture
def take(scene):
    def at(name, number):
        chosen, played = scene(name)
        return Take(chosen.recording, played, Cursor(played.steps, number))

    return at


def actions(take):
    return list(dict.fromkeys(way.action for way in ways(take)))


def number_of(take, title):
    return next(step.number for step in take.play.steps if step.title == title)


def test_a_message_may_be_lost_and_its_client_may_leave(take):
    at = take("normal-end", 6)
    assert actions(at) == ["disconnect", "slow", "abort", "drop", "delay", "reorder"]


def test_a_call_in_one_process_cannot_be_lost(take):
    at = take("normal-end", 4)
    assert actions(at) == ["disconnect", "slow", "abort"]


def test_who_has_left_or_has_the_answer_cannot_leave(take):
    at = take("client-leaves", 1)
    at.cursor.to(number_of(at, "left") + 1)
    assert not {"disconnect", "slow", "abort"} & set(actions(at))
    assert actions(take("normal-end", 88)) == []


def test_at_a_fork_there_is_no_other(take, perform):
    at = take("normal-end", 6)
    fork = fork_of(at, "title", ways(at)[0])
    played = perform(fork)
    after = Take(fork, played, Cursor(played.steps, beginning(at, played)))
    assert after.cursor.step.kind == "fork"
    assert ways(after) == []


def test_each_gap_with_whether_it_is_on(take):
    labels = {name: str(label) for name, label in gap_labels(["late-abort"])}
    assert list(labels) == [gap.name for gap in GAPS]
    assert labels["late-abort"].startswith("[x] ") and labels["early-break"].startswith("[ ] ")


def test_a_gap_is_switched_and_shown_from_where_it_matters(take, perform):
    at = take("normal-end", 6)
    fork = with_gap(at, "title", "early-break")
    assert "early-break" not in fork.header.gaps and fork.header.title == "title | early-break off"
    played = perform(fork)
    assert played.findings == []
    assert beginning(at, played) == len(played.steps)  # only the finding at the end is gone
