"""Adds up the scheduler's books: every page and slot in exactly one place, every count right."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ..language import Sentence
from .problems import IntegrityError, Kind, Place
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
        awaited = sorted(scheduler.requests)
        raise IntegrityError(
            "not-awaited", next(iter(awaited), None), awaited=awaited, alive=sorted(alive.elements())
        )
    for req in queued:
        if req.ended:
            raise _problem_of(req, "ended-queued")
        if req.retracted and not req.in_flight:
            raise _problem_of(req, "retracted-running")
    # Who is admitted arrived before all who are not: retraction relies on it.
    order = [uid for uid, req in scheduler.requests.items() if not req.ended]
    if order != [req.uid for req in queued]:
        raise IntegrityError("out-of-order", next(iter(order), None), uids=order)
    for req in draining:
        if not (req.ended and req.in_flight):
            raise _problem_of(req, "idle-draining")


def _check_in_flight(scheduler: Scheduler, admitted: list[Req]) -> None:
    in_flight = scheduler.last_data[0].reqs if scheduler.last_data else []
    launched = Counter(id(req) for req in in_flight)
    for req in admitted:
        if req.in_flight != (due := launched.pop(id(req), 0)):
            raise _problem_of(req, "steps-miscounted", steps=req.in_flight, due=due)
    if launched:
        raise IntegrityError("step-of-nobody")


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
        raise IntegrityError("wishes-miscounted", marked=marked, wishing=wishing or Sentence("none"))


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
            need = cache_manager.pages_for(req.max_len - 1)
            raise _problem_of(req, "need-miscounted", pages=len(req.pages), rest=req.rest, need=need)
        limit = cache_manager.head_room
        if req.reserved != (req.rest if limit is None else min(req.rest, limit)):
            raise _problem_of(req, "share-miscounted", reserved=req.reserved, rest=req.rest)
        if cache_manager.pages_for(req.launched_len) > len(req.pages):
            raise _problem_of(req, "pages-short", pages=len(req.pages), positions=req.launched_len)
    places.check_complete()
    reserved = sum(req.reserved for req in admitted)
    if reserved != cache_manager.reserved:
        raise IntegrityError("reserved-miscounted", reserved=reserved, noted=cache_manager.reserved)
    if cache_manager.head_room is None and reserved > cache_manager.room:
        surplus = reserved - cache_manager.room
        raise IntegrityError("reserved-too-many", reserved=reserved, surplus=surplus)


def _problem_of(req: Req, kind: Kind, **values: int) -> IntegrityError:
    return IntegrityError(kind, req.uid, (), **values)


FREE, CACHED = Place("free"), Place("cached")


def _used_by(req: Req) -> Place:
    return Place("used", req.uid)


class _Things(NamedTuple):
    """What is wrong with slots, or with pages, that are not in exactly one place."""

    twice: Kind
    lost: Kind


SLOTS = _Things("slot-twice", "slots-lost")
PAGES = _Things("page-twice", "pages-lost")


class _Places:
    """Where each of so many things is."""

    def __init__(self, things: _Things, count: int) -> None:
        self._things = things
        self._places: list[Place | None] = [None] * count

    def put(self, numbers: Iterable[int], place: Place) -> None:
        for number in numbers:
            other = self._places[number]
            if other is not None:
                raise IntegrityError(
                    self._things.twice,
                    places=(other, place),
                    number=number,
                    one=other.sentence,
                    other=place.sentence,
                )
            self._places[number] = place

    def check_complete(self) -> None:
        lost = [number for number, place in enumerate(self._places) if place is None]
        if lost:
            raise IntegrityError(self._things.lost, numbers=lost)
