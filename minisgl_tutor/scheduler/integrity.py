"""Adds up the scheduler's books: every page and slot in exactly one place, every count right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..language import Sentence
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
            Sentence(
                "requests {awaited} await a terminal reply, but {alive} are waiting, running, or aborted and "
                "draining",
                awaited=sorted(scheduler.requests),
                alive=sorted(alive.elements()),
            )
        )
    for req in queued:
        if req.ended:
            raise IntegrityError(Sentence("request {uid} has ended but is still queued", uid=req.uid))
        if req.retracted and not req.in_flight:
            raise IntegrityError(Sentence("request {uid} is retracted but still running", uid=req.uid))
    # Who is admitted arrived before all who are not: retraction relies on it.
    order = [uid for uid, req in scheduler.requests.items() if not req.ended]
    if order != [req.uid for req in queued]:
        raise IntegrityError(
            Sentence("requests {uids} arrived in this order, but take their turns otherwise", uids=order)
        )
    for req in draining:
        if not (req.ended and req.in_flight):
            raise IntegrityError(Sentence("request {uid} is draining without a step in flight", uid=req.uid))


def _check_in_flight(scheduler: Scheduler, admitted: list[Req]) -> None:
    in_flight = scheduler.last_data[0].reqs if scheduler.last_data else []
    launched = Counter(id(req) for req in in_flight)
    for req in admitted:
        if req.in_flight != launched.pop(id(req), 0):
            raise IntegrityError(
                Sentence(
                    "request {uid} counts {steps} steps in flight wrongly", uid=req.uid, steps=req.in_flight
                )
            )
    if launched:
        raise IntegrityError(Sentence("a step in flight uses a request that holds nothing any more"))


def _check_slots(table_manager: TableManager, admitted: list[Req]) -> None:
    places = _Places(SLOTS, table_manager.num_slots)
    places.put(table_manager.free_slots, FREE)
    for req in admitted:
        if req.slot is not None:
            places.put([req.slot], _used_by(req))
    places.check_complete()
    wishing = {req.slot for req in admitted if has_wishes(req.sampling_params)}
    if wishing != table_manager.slots_with_wishes:
        marked = sorted(table_manager.slots_with_wishes)
        raise IntegrityError(
            Sentence(
                "slots {marked} are marked as having wishes, but {wishing} have",
                marked=marked,
                wishing=wishing or Sentence("none"),
            )
        )


def _check_pages(cache_manager: CacheManager, admitted: list[Req]) -> None:
    prefix_cache = cache_manager.prefix_cache
    cached = prefix_cache.check([req.prefix for req in admitted if req.prefix is not None])
    places = _Places(PAGES, cache_manager.num_pages)
    places.put(cache_manager.free_pages, FREE)
    places.put(cached, CACHED)
    for req in admitted:
        path = prefix_cache.path(req.prefix) if req.prefix is not None else []
        for position, page in enumerate(req.pages):
            if position >= len(path) or path[position] != page:
                places.put([page], _used_by(req))
        if len(req.pages) + req.rest != cache_manager.pages_for(req.max_len - 1):
            raise IntegrityError(
                Sentence(
                    "request {uid} has {pages} pages and {rest} to come, but may come to need {need}",
                    uid=req.uid,
                    pages=len(req.pages),
                    rest=req.rest,
                    need=cache_manager.pages_for(req.max_len - 1),
                )
            )
        limit = cache_manager.head_room
        if req.reserved != (req.rest if limit is None else min(req.rest, limit)):
            raise IntegrityError(
                Sentence(
                    "request {uid} has {reserved} of {rest} pages reserved",
                    uid=req.uid,
                    reserved=req.reserved,
                    rest=req.rest,
                )
            )
        if cache_manager.pages_for(req.launched_len) > len(req.pages):
            raise IntegrityError(
                Sentence(
                    "request {uid} has {pages} pages for {positions} positions",
                    uid=req.uid,
                    pages=len(req.pages),
                    positions=req.launched_len,
                )
            )
    places.check_complete()
    reserved = sum(req.reserved for req in admitted)
    if reserved != cache_manager.reserved:
        raise IntegrityError(
            Sentence(
                "{reserved} pages are reserved, counted as {noted}",
                reserved=reserved,
                noted=cache_manager.reserved,
            )
        )
    if cache_manager.head_room is None and reserved > cache_manager.room:
        raise IntegrityError(
            Sentence(
                "{reserved} pages are reserved: {surplus} too many",
                reserved=reserved,
                surplus=reserved - cache_manager.room,
            )
        )


FREE, CACHED = Sentence("free"), Sentence("cached")


def _used_by(req: Req) -> Sentence:
    return Sentence("used by request {uid}", uid=req.uid)


class _Things(NamedTuple):
    """What is said of slots, or of pages, that are not in exactly one place."""

    twice: Sentence
    lost: Sentence


SLOTS = _Things(
    Sentence("slot {number} is {one} and {other} at once"),
    Sentence("slots {numbers} are lost: neither free, cached nor in use"),
)
PAGES = _Things(
    Sentence("page {number} is {one} and {other} at once"),
    Sentence("pages {numbers} are lost: neither free, cached nor in use"),
)


class _Places:
    """Where each of so many things is."""

    def __init__(self, things: _Things, count: int) -> None:
        self._things = things
        self._places: list[Sentence | None] = [None] * count

    def put(self, numbers: Iterable[int], place: Sentence) -> None:
        for number in numbers:
            other = self._places[number]
            if other is not None:
                raise IntegrityError(self._things.twice.with_values(number=number, one=other, other=place))
            self._places[number] = place

    def check_complete(self) -> None:
        lost = [number for number, place in enumerate(self._places) if place is None]
        if lost:
            raise IntegrityError(self._things.lost.with_values(numbers=lost))
