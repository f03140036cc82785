"""Schedules: the search for the shortest ends, and ends at something that cannot be made simpler."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from minisgl_tutor.exercises.judge import Fault, Violation, check_of
from minisgl_tutor.exercises.lifecycle import fixed, schedules
from minisgl_tutor.exercises.schedule import (
    ANY,
    Client,
    Ending,
    Schedule,
    client,
    least_replies,
    random_schedule,
    smaller,
    undisturbed,
)
from minisgl_tutor.exercises.shrink import shortest
from minisgl_tutor.exercises.verdict import in_words


def violation(schedule: Schedule) -> Violation:
    return Violation(check_of(schedule, Fault.KEPT), Fault.KEPT, schedule, 0, 0, {})


@pytest.mark.parametrize("seed", range(20))
def test_every_simpler_schedule_is_smaller_and_can_be_played(seed: int) -> None:
    schedule = random_schedule(random.Random(seed), ANY)
    for simpler in smaller(schedule):
        assert simpler.size() < schedule.size()
        assert all(each.replies >= least_replies(each) for each in simpler.clients)
        assert [each.start for each in simpler.clients] == sorted(each.start for each in simpler.clients)


def test_the_shortest_that_still_fails_is_found() -> None:
    def streams_leave(schedule: Schedule) -> list[Violation]:
        wrong = any(each.stream and each.ending is Ending.LEAVES_WAITING for each in schedule.clients)
        return [violation(schedule)] if wrong else []

    leaves = replace(client(True, Ending.LEAVES_WAITING, 2, start=1), replies=9)
    long = Schedule((Client(False, 5), leaves, Client(True, 4, start=3)), "2.4")
    assert shortest(violation(long), streams_leave).schedule == Schedule(
        (client(True, Ending.LEAVES_WAITING),)
    )


def test_a_fault_that_needs_two_keeps_two() -> None:
    def two(schedule: Schedule) -> list[Violation]:
        return [violation(schedule)] if len(schedule.clients) > 1 else []

    three = Schedule((Client(True, 3), Client(False, 3), Client(True, 2)))
    assert shortest(violation(three), two).schedule == Schedule((Client(False, 1), Client(True, 1)))


def test_one_seed_gives_one_list_of_schedules() -> None:
    assert schedules(5) == schedules(5) != schedules(6)
    assert schedules(5)[: len(fixed())] == fixed()


def test_undisturbed_clients_stay() -> None:
    for schedule in schedules(3):
        assert not any(each.leaves for each in undisturbed(schedule).clients)


def test_a_schedule_in_words() -> None:
    late = replace(client(False, Ending.LEAVES_WAITING, 1), start=2)
    assert in_words(Schedule((Client(True, 1), late), "2.4")) == (
        "2 clients. request 0: streaming, 1 reply; its client reads all of it. "
        "request 1 (comes 200 ms later): not streaming, 5 replies; "
        "its client leaves between two replies, after 1 reply. the server declares ASGI 2.4"
    )
