"""A fast tier of the random schedules, and schedulers broken on purpose that they must find out."""

from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from minisgl_tutor.message import AbortBackendMsg, Single
from minisgl_tutor.scheduler.cache import CacheManager
from minisgl_tutor.scheduler.decode import DecodeManager
from minisgl_tutor.scheduler.prefill import PrefillManager
from minisgl_tutor.scheduler.prefix import Prefix
from minisgl_tutor.scheduler.radix import RadixCache
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.scheduler import Scheduler

Faults = Callable[..., Iterator[Exception]]
SCHEDULES = 60


def test_random_schedules_are_played_right(fuzz: ModuleType) -> None:
    met: Counter[str] = Counter()
    for seed in range(SCHEDULES):
        met += fuzz.Fuzz(seed).play()
    assert {
        "abort before arrival",
        "abort with arrival",
        "abort while waiting",
        "abort between chunks",
        "abort with a chunk in flight",
        "abort with the last prefill in flight",
        "abort with a decode in flight",
        "abort with the last token in flight",
        "abort between decode steps",
        "abort after EOS, draining",
        "abort after the end",
        "abort twice",
        "abort of an unknown uid",
        "bad request",
        "duplicate uid",
        "uid used again",
        "prefix hit",
        "ended by stop",
        "ended by length",
        "ended by abort",
        "retracted",
        "retracted again",
        "retracted with a step in flight",
        "abort while retracted",
        "ended by length after a retraction",
        "ended by abort after a retraction",
    } <= met.keys()


def test_a_schedule_is_played_the_same_way_again(fuzz: ModuleType) -> None:
    assert fuzz.Fuzz(7).play() == fuzz.Fuzz(7).play()


class WithCache(Scheduler):
    """A scheduler with another cache manager or prefix cache."""

    cache_manager_class = CacheManager
    radix_class = RadixCache

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        info = self.engine.info
        self.cache_manager = self.cache_manager_class(
            info.num_pages,
            info.page_size,
            self.radix_class(info.page_size),
            self.cache_manager.head_room,
        )
        self.prefill_manager = PrefillManager(self.cache_manager, self.table_manager)
        self.decode_manager = DecodeManager(self.cache_manager)


class FreesSlotEarly(Scheduler):
    def _end_req(self, req: Req) -> None:
        super()._end_req(req)
        if req.in_flight:
            assert req.slot is not None
            del self.draining[req.slot]
            self.table_manager.free(req)


class FreesPagesEarly(Scheduler):
    def _end_req(self, req: Req) -> None:
        super()._end_req(req)
        if req.in_flight:
            self.cache_manager.release(req)

    def _free_req_resources(self, req: Req) -> None:
        self.table_manager.free(req)
        if req.pages:
            self.cache_manager.release(req)


class FreesTwice(Scheduler):
    def _release_if_drained(self, req: Req) -> None:
        slot = req.slot
        super()._release_if_drained(req)
        if slot is not None and req.aborted and not req.in_flight:
            self.table_manager.free_slots.append(slot)


class KeepsLateTokens(Scheduler):
    def _end_req(self, req: Req) -> None:
        super()._end_req(req)
        req.ended = not req.in_flight


class TellsAbortAtOnceAndAgain(Scheduler):
    def _end_req(self, req: Req) -> None:
        if req.aborted and req.in_flight:
            self._send_aborted(req.uid)
        super()._end_req(req)


class SaysNothingToAborted(Scheduler):
    def _send_aborted(self, uid: int) -> None:
        pass


class SaysNothingToRejected(Scheduler):
    def _reject(self, uid: int, message: str, code: str, param: str | None) -> None:
        pass


class AbortsOnlyRunning(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not (isinstance(msg, AbortBackendMsg) and msg.uid in self.prefill_manager.waiting):
            super()._process_one_msg(msg)


class AbortsOnlyWaiting(Scheduler):
    def _process_one_msg(self, msg: Single) -> None:
        if not (isinstance(msg, AbortBackendMsg) and msg.uid in self.decode_manager.running):
            super()._process_one_msg(msg)


class ReqReadLate(Req):
    """Knows its length by what was launched, not by what has arrived."""

    __slots__ = ()

    @property
    def can_decode(self) -> bool:
        return self.can_launch


class ReadsLengthLate(Scheduler):
    def _new_req(self, *args: Any) -> Req:
        req = super()._new_req(*args)
        return ReqReadLate(*(getattr(req, name) for name in Req.__dataclass_fields__))


class CountsPromptAgainstLimit(Scheduler):
    def _new_req(self, *args: Any) -> Req:
        req = super()._new_req(*args)
        req.max_len = max(req.prompt_len + 1, req.max_len - req.prompt_len)
        return req


class ForgetsEos(Scheduler):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.eos_token_ids = frozenset()


class CachesUncomputed(WithCache):
    class cache_manager_class(CacheManager):
        def _insert(self, req: Req) -> Prefix:
            count = min(req.length // self.page_size, len(req.pages))
            return self.prefix_cache.insert(req.token_ids[: count * self.page_size], req.pages[:count])


class TakesWholePromptFromCache(WithCache):
    class cache_manager_class(CacheManager):
        def admit(self, req: Req) -> bool:
            req.prompt_len += 1
            req.prefill_len += 1
            admitted = super().admit(req)
            req.prompt_len -= 1
            req.prefill_len -= 1
            return admitted


class RepointsLivePages(WithCache):
    """Frees duplicates when it shares a prefix, though the engine's page table still names them."""

    class cache_manager_class(CacheManager):
        def keep_prefix(self, req: Req) -> None:
            super().keep_prefix(req)
            assert req.prefix is not None
            kept = self.prefix_cache.path(req.prefix)
            count = min(len(kept), len(req.pages))
            self.free_pages += [own for own, page in zip(req.pages, kept, strict=False) if own != page]
            req.pages[:count] = kept[:count]


class LocksPromisedPages(WithCache):
    class cache_manager_class(CacheManager):
        def keep_prefix(self, req: Req) -> None:
            prefix = self._insert(req)
            self.prefix_cache.lock(prefix)
            assert req.prefix is not None
            self.prefix_cache.unlock(req.prefix)
            req.prefix = prefix


class ReservesNothing(WithCache):
    class cache_manager_class(CacheManager):
        @property
        def available(self) -> int:
            return len(self.free_pages) + self.prefix_cache.evictable


class LocksNothing(WithCache):
    class radix_class(RadixCache):
        def lock(self, prefix: Prefix) -> None:
            pass

        def unlock(self, prefix: Prefix) -> None:
            pass


class MatchesFirstPageOnly(WithCache):
    """Takes a node for matched as soon as its first page is."""

    class radix_class(RadixCache):
        def _common_pages(self, one: Any, other: Any) -> int:
            return min(len(one), len(other)) // self._page_size


BROKEN = [
    FreesSlotEarly,
    FreesPagesEarly,
    FreesTwice,
    KeepsLateTokens,
    TellsAbortAtOnceAndAgain,
    SaysNothingToAborted,
    SaysNothingToRejected,
    AbortsOnlyRunning,
    AbortsOnlyWaiting,
    ReadsLengthLate,
    CountsPromptAgainstLimit,
    ForgetsEos,
    CachesUncomputed,
    TakesWholePromptFromCache,
    RepointsLivePages,
    LocksPromisedPages,
    ReservesNothing,
    LocksNothing,
    MatchesFirstPageOnly,
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_scheduler_is_found_out(faults: Faults, broken: type[Scheduler]) -> None:
    assert next(faults(broken), None) is not None


@pytest.mark.parametrize(
    "broken",
    [FreesSlotEarly, CachesUncomputed, RepointsLivePages, LocksNothing, MatchesFirstPageOnly],
)
def test_a_mix_up_shows_in_the_tokens_alone(
    fuzz: ModuleType, faults: Faults, broken: type[Scheduler]
) -> None:
    """Without a look at the books: the hashing engine gives wrong tokens."""
    found = faults(broken, check_books=False)
    assert any(isinstance(fault, fuzz.Wrong) and "is wrong" in str(fault) for fault in found)
