"""Adds up the scheduler's books: every page and slot in exactly one place, every count right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .prefix import IntegrityError
from .req import Req
from .wishes import has_wishes

if TYPE_CHECKING:
    from .cache import CacheManager
    from .scheduler import Scheduler
    from .table import TableManager

__all__ = ["IntegrityError", "check_integrity"]


def check_integrity(scheduler: Scheduler) -> None:
    """See ``Scheduler.check_integrity``. To be called between two rounds."""
    waiting = scheduler.prefill_manager.waiting.values()
    running = scheduler.decode_manager.running.values()
    draining = scheduler.draining.values()
    admitted = [req for reqs in (waiting, running, draining) for req in reqs if req.slot is not None]
    _check_requests(scheduler, [*running, *waiting], list(draining))
    _check_in_flight(scheduler, admitted)
    _check_slots(scheduler.table_manager, admitted)
    _check_pages(scheduler.cache_manager, admitted)


def _check_requests(scheduler: Scheduler, queued: list[Req], draining: list[Req]) -> None:
    alive = Counter(req.uid for req in queued)
    alive.update(req.uid for req in draining if req.aborted)
    if alive != Counter(scheduler.requests.keys()):
        raise IntegrityError(
            f"requests {sorted(scheduler.requests)} await a terminal reply, but {sorted(alive.elements())} "
            "are waiting, running, or aborted and draining"
        )
    for req in queued:
        if req.ended:
            raise IntegrityError(f"request {req.uid} has ended but is still queued")
        if req.retracted and not req.in_flight:
            raise IntegrityError(f"request {req.uid} is retracted but still running")
    # Who is admitted arrived before all who are not: retraction relies on it.
    order = [uid for uid, req in scheduler.requests.items() if not req.ended]
    if order != [req.uid for req in queued]:
        raise IntegrityError(f"requests {order} arrived in this order, but take their turns otherwise")
    for req in draining:
        if not (req.ended and req.in_flight):
            raise IntegrityError(f"request {req.uid} is draining without a step in flight")


def _check_in_flight(scheduler: Scheduler, admitted: list[Req]) -> None:
    in_flight = scheduler.last_data[0].reqs if scheduler.last_data else []
    launched = Counter(id(req) for req in in_flight)
    for req in admitted:
        if req.in_flight != launched.pop(id(req), 0):
            raise IntegrityError(f"request {req.uid} counts {req.in_flight} steps in flight wrongly")
    if launched:
        raise IntegrityError("a step in flight uses a request that holds nothing any more")


def _check_slots(table_manager: TableManager, admitted: list[Req]) -> None:
    places = _Places("slot", table_manager.num_slots)
    places.put(table_manager.free_slots, "free")
    for req in admitted:
        if req.slot is not None:
            places.put([req.slot], f"used by request {req.uid}")
    places.check_complete()
    wishing = {req.slot for req in admitted if has_wishes(req.sampling_params)}
    if wishing != table_manager.slots_with_wishes:
        marked = sorted(table_manager.slots_with_wishes)
        raise IntegrityError(f"slots {marked} are marked as having wishes, but {wishing or 'none'} have")


def _check_pages(cache_manager: CacheManager, admitted: list[Req]) -> None:
    prefix_cache = cache_manager.prefix_cache
    cached = prefix_cache.check([req.prefix for req in admitted if req.prefix is not None])
    places = _Places("page", cache_manager.num_pages)
    places.put(cache_manager.free_pages, "free")
    places.put(cached, "cached")
    for req in admitted:
        path = prefix_cache.path(req.prefix) if req.prefix is not None else []
        for position, page in enumerate(req.pages):
            if position >= len(path) or path[position] != page:
                places.put([page], f"used by request {req.uid}")
        if len(req.pages) + req.rest != cache_manager.pages_for(req.max_len - 1):
            raise IntegrityError(
                f"request {req.uid} has {len(req.pages)} pages and {req.rest} to come, "
                f"but may come to need {cache_manager.pages_for(req.max_len - 1)}"
            )
        limit = cache_manager.head_room
        if req.reserved != (req.rest if limit is None else min(req.rest, limit)):
            raise IntegrityError(f"request {req.uid} has {req.reserved} of {req.rest} pages reserved")
        if cache_manager.pages_for(req.launched_len) > len(req.pages):
            raise IntegrityError(
                f"request {req.uid} has {len(req.pages)} pages for {req.launched_len} positions"
            )
    places.check_complete()
    reserved = sum(req.reserved for req in admitted)
    if reserved != cache_manager.reserved:
        raise IntegrityError(f"{reserved} pages are reserved, counted as {cache_manager.reserved}")
    if cache_manager.head_room is None and reserved > cache_manager.room:
        raise IntegrityError(f"{reserved} pages are reserved: {reserved - cache_manager.room} too many")


class _Places:
    """Where each of so many things is."""

    def __init__(self, thing: str, count: int) -> None:
        self._thing = thing
        self._places: list[str | None] = [None] * count

    def put(self, numbers: Iterable[int], place: str) -> None:
        for number in numbers:
            other = self._places[number]
            if other is not None:
                raise IntegrityError(f"{self._thing} {number} is {other} and {place} at once")
            self._places[number] = place

    def check_complete(self) -> None:
        lost = [number for number, place in enumerate(self._places) if place is None]
        if lost:
            raise IntegrityError(f"{self._thing}s {lost} are lost: neither free, cached nor in use")
