"""Schedules: what is simpler is smaller, so that the search for the shortest ends."""

from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from minisgl_tutor.exercises.catalogue import resolve
from minisgl_tutor.exercises.drills.lifecycle.drill import LifecycleDrill
from minisgl_tutor.exercises.drills.lifecycle.schedule import (
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
from minisgl_tutor.exercises.drills.lifecycle.schedules import fixed, schedules
from minisgl_tutor.language import ENGLISH


def planned(seed: int) -> list[Schedule]:
    return schedules(random.Random(seed))


@pytest.mark.parametrize("seed", range(20))
def test_every_simpler_schedule_is_smaller_and_can_be_played(seed: int) -> None:
    schedule = random_schedule(random.Random(seed), ANY)
    for simpler in smaller(schedule):
        assert simpler.size() < schedule.size()
        assert all(each.replies >= least_replies(each) for each in simpler.clients)
        assert [each.start for each in simpler.clients] == sorted(each.start for each in simpler.clients)


def test_one_seed_gives_one_list_of_schedules() -> None:
    assert planned(5) == planned(5) != planned(6)
    assert planned(5)[: len(fixed())] == fixed()


def test_undisturbed_clients_stay() -> None:
    for schedule in planned(3):
        assert not any(each.leaves for each in undisturbed(schedule).clients)


def test_a_schedule_in_words() -> None:
    late = replace(client(False, Ending.LEAVES_WAITING, 1), start=2)
    say = resolve("5.7").teller(ENGLISH)
    assert LifecycleDrill().in_words(Schedule((Client(True, 1), late), "2.4"), say) == (
        "2 clients. request 0: streaming, 1 reply; its client reads all of it. "
        "request 1 (comes 200 ms later): not streaming, 5 replies; "
        "its client leaves between two replies, after 1 reply. the server declares ASGI 2.4"
    )
