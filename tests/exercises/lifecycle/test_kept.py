"""What is kept is found wherever it is, by looking."""

from __future__ import annotations

import asyncio
from collections import deque
from types import ModuleType
from typing import Any

import pytest

from minisgl_tutor.exercises.drills.lifecycle.kept import MANY, Keeping, growing, grown, sizes_of
from minisgl_tutor.links import MemoryAsyncPull, MemoryAsyncPush, MemoryChannel
from minisgl_tutor.server.frontend import FrontendManager

MODULE = ModuleType("mine")


class Life:
    def __init__(self, uid: int) -> None:
        self.uid = uid


Life.__module__ = "mine"


def frontend() -> Any:
    return FrontendManager([MemoryAsyncPush(MemoryChannel("out"))], MemoryAsyncPull(MemoryChannel("in")))


async def test_the_servers_own_maps_are_seen() -> None:
    front = frontend()
    keeping = Keeping(front, None)
    uid = front.new_user()
    assert keeping.now() == {("ack_map", uid), ("event_map", uid), ("unanswered", uid)}
    front.forget(uid)
    assert keeping.now() == set()


@pytest.mark.parametrize(
    "value",
    [{5: "x"}, {5}, [5], deque([5]), (1, (5, "x")), {"all": [{"uids": {5}}]}, [Life(5)], {"a": Life(5)}],
    ids=repr,
)
def test_a_uid_is_found_in_whatever_is_added(value: object) -> None:
    front = frontend()
    keeping = Keeping(front, MODULE)
    front.mine = value
    assert any(uid == 5 for _, uid in keeping.now())


def test_a_uid_is_found_in_a_queue_and_in_the_readers_module() -> None:
    front = frontend()
    keeping = Keeping(front, MODULE)
    front.queue = asyncio.Queue()
    front.queue.put_nowait(Life(5))
    MODULE.table = {6: 0}  # type: ignore[attr-defined]
    try:
        assert keeping.now() == {("queue", 5), ("table", 6)}
    finally:
        del MODULE.table  # type: ignore[attr-defined]


def test_numbers_that_were_there_before_are_no_uids_and_circles_end() -> None:
    front = frontend()
    front.sizes = [0, 1, 2]
    front.circle = []
    front.circle.append(front.circle)
    front.count = 5
    assert Keeping(front, None).now() == set()


def test_what_has_no_uid_shows_by_its_size() -> None:
    front = frontend()
    keeping = Keeping(front, MODULE)
    before = keeping.sizes()
    front.log = ["gone"]
    front.of_all = {"left": ["a", "b"], "count": 7}
    assert keeping.now() == set()
    assert keeping.sizes() == before | {"log": 1, "of_all": 5}


def test_slots_are_looked_at_too() -> None:
    class Slotted:
        __slots__ = ("_absent", "queues")

    kept_by = Slotted()
    kept_by.queues = {7: []}  # type: ignore[attr-defined]
    assert Keeping(kept_by, None).sizes() == {"queues": 2}


def test_what_grows_each_time_is_told_and_what_is_made_once_is_not() -> None:
    assert growing([{"once": 0}, {"once": 1, "log": 1}, {"once": 1, "log": 2}, {"once": 1, "log": 4}]) == [
        "log"
    ]


def test_few_requests_do_not_tell_what_grows() -> None:
    sizes = [{"log": count} for count in range(MANY + 1)]
    assert grown(sizes) == ["log"]
    assert grown(sizes[:-1]) == []


def test_what_comes_back_in_the_end_has_not_grown() -> None:
    sizes = [{"under way": count} for count in range(MANY + 1)]
    assert grown([*sizes, {}]) == []


def test_several_objects_are_counted_together() -> None:
    one, two = frontend(), frontend()
    before = sizes_of([one, two], None)
    one.log, two.log, two.table = ["a"], ["b"], {"c": 1}
    assert sizes_of([one, two], None) == before | {"log": 2, "table": 1}
