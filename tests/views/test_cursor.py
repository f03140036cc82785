"""Ways through a list of steps."""

from __future__ import annotations

import pytest

from minisgl_tutor.trace.steps import Step
from minisgl_tutor.views.cursor import Cursor


def step(number, title, uids, kind="message"):
    return Step(number, number * 10, kind, "api", "scheduler", title, uids, [], [])


@pytest.fixture
def cursor():
    return Cursor(
        [
            step(1, "request", [], "client"),
            step(2, "UserMsg", [0]),
            step(3, "UserMsg", [1]),
            step(4, "Batch", [0, 1, 2]),
            step(5, "early-break", [1], "gap"),
            step(6, "UserMsg", [2]),
        ]
    )


def walk(cursor, *ways):
    return [(way(), cursor.step.number) for way in ways]


def test_forward_and_back_stay_within_the_list(cursor):
    assert cursor.step.number == 1
    assert not cursor.move(-1)
    assert cursor.move(1) and cursor.step.number == 2
    assert cursor.to(99) and cursor.step.number == 6
    assert not cursor.move(1)
    assert cursor.to(-3) and cursor.step.number == 1


def test_it_follows_one_uid_through_steps_about_several(cursor):
    cursor.to(3)
    assert walk(cursor, cursor.next_of_uid, cursor.next_of_uid, cursor.next_of_uid) == [
        (True, 4),
        (True, 5),
        (False, 5),
    ]
    assert cursor.next_of_uid(-1) and cursor.next_of_uid(-1) and cursor.step.number == 3


def test_of_several_uids_the_reader_chooses(cursor):
    cursor.to(4)
    assert cursor.uid == 0
    assert cursor.choose_next_uid() and cursor.choose_next_uid() and cursor.uid == 2
    assert cursor.next_of_uid() and cursor.step.number == 6
    assert not cursor.choose_next_uid()
    assert cursor.move(-1) and cursor.uid == 1  # the step there is about another


def test_a_step_about_nobody_keeps_whom_the_reader_follows(cursor):
    cursor.to(2)
    cursor.next_of_uid(1)
    cursor.to(1)
    assert cursor.uid == 0


def test_to_gaps_and_titles(cursor):
    assert cursor.next_gap() and cursor.step.number == 5
    assert not cursor.next_gap()
    assert cursor.next_titled("UserMsg", -1) and cursor.step.number == 3
    assert cursor.next_titled("UserMsg") and cursor.step.number == 6
    assert cursor.titles() == ["request", "UserMsg", "Batch", "early-break"]
