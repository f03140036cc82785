"""The check of the books notices each kind of damage, and says what it is."""

from collections.abc import Callable
from typing import Any

import pytest

from minisgl_tutor.scheduler.problems import IntegrityError
from minisgl_tutor.scheduler.scheduler import Scheduler


def running(scheduler: Scheduler) -> Any:
    return next(iter(scheduler.decode_manager.running.values()))


def lose_page(scheduler: Scheduler) -> None:
    scheduler.cache_manager.free_pages.pop()


def free_page_in_use(scheduler: Scheduler) -> None:
    scheduler.cache_manager.free_pages.append(running(scheduler).pages[-1])


def free_page_twice(scheduler: Scheduler) -> None:
    scheduler.cache_manager.free_pages.append(scheduler.cache_manager.free_pages[0])


def free_cached_page(scheduler: Scheduler) -> None:
    cache = scheduler.cache_manager.prefix_cache
    scheduler.cache_manager.free_pages.append(cache.path(running(scheduler).prefix)[0])


def lose_slot(scheduler: Scheduler) -> None:
    scheduler.table_manager.free_slots.pop()


def free_slot_in_use(scheduler: Scheduler) -> None:
    scheduler.table_manager.free_slots.append(running(scheduler).slot)


def keep_wishes(scheduler: Scheduler) -> None:
    scheduler.table_manager.slots_with_wishes.add(3)


def forget_reservation(scheduler: Scheduler) -> None:
    scheduler.cache_manager.reserved -= 1


def promise_too_much(scheduler: Scheduler) -> None:
    running(scheduler).reserved += 100
    running(scheduler).rest += 100
    running(scheduler).max_len += 400
    scheduler.cache_manager.reserved += 100


def forget_own_reservation(scheduler: Scheduler) -> None:
    running(scheduler).reserved -= 1


def forget_rest(scheduler: Scheduler) -> None:
    running(scheduler).rest -= 1


def run_past_pages(scheduler: Scheduler) -> None:
    running(scheduler).launched_len += 20


def miscount_steps(scheduler: Scheduler) -> None:
    running(scheduler).in_flight += 1


def forget_request(scheduler: Scheduler) -> None:
    scheduler.requests.clear()


def end_without_leaving(scheduler: Scheduler) -> None:
    running(scheduler).ended = True


def retract_nothing(scheduler: Scheduler) -> None:
    running(scheduler).retracted = True
    running(scheduler).in_flight = 0
    scheduler.last_data = None


def take_turns_otherwise(scheduler: Scheduler) -> None:
    scheduler.decode_manager.running = dict(reversed(scheduler.decode_manager.running.items()))


def drain_nothing(scheduler: Scheduler) -> None:
    req = scheduler.decode_manager.running.pop(0)
    req.aborted = req.ended = True
    req.in_flight = 0
    scheduler.last_data = None
    scheduler.draining[0] = req


def drop_request_in_flight(scheduler: Scheduler) -> None:
    req = scheduler.decode_manager.running.pop(0)
    del scheduler.requests[0]
    scheduler._free_req_resources(req)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lose_page, r"pages \[\d+\] are lost"),
        (free_page_in_use, r"page \d+ is free and used by request 0 at once"),
        (free_page_twice, r"page \d+ is free twice"),
        (free_cached_page, r"page \d+ is free and cached at once"),
        (lose_slot, r"slots \[\d+\] are lost"),
        (free_slot_in_use, r"slot \d+ is free and used by request 0 at once"),
        (keep_wishes, r"slots \[3\] are marked as having wishes, but none have"),
        (forget_reservation, r"pages are reserved, counted as"),
        (promise_too_much, r"pages are reserved: \d+ too many"),
        (forget_own_reservation, r"has 4 of 5 pages reserved"),
        (forget_rest, r"but may come to need 8$"),
        (run_past_pages, r"pages for \d+ positions"),
        (miscount_steps, r"counts 2 steps in flight; there are 1"),
        (forget_request, r"await a terminal reply"),
        (end_without_leaving, r"has ended but is still queued"),
        (retract_nothing, r"retracted but still running"),
        (take_turns_otherwise, r"requests \[0, 1\] arrived in this order"),
        (drain_nothing, r"draining without a step in flight"),
        (drop_request_in_flight, r"uses a request that holds nothing any more"),
    ],
)
def test_damage_is_noticed(make_rig: Any, damage: Callable[[Scheduler], None], message: str) -> None:
    rig = make_rig(overlap=True, admission="reserve")
    rig.send(0, 10, max_tokens=20)
    rig.send(1, 5, max_tokens=9)
    rig.round(3)
    damage(rig.scheduler)
    with pytest.raises(IntegrityError, match=message):
        rig.scheduler.check_integrity()
