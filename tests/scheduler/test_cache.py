import pytest

from minisgl_tutor.message import SamplingParams
from minisgl_tutor.scheduler.cache import CacheManager
from minisgl_tutor.scheduler.prefix import NaiveCache
from minisgl_tutor.scheduler.radix import RadixCache
from minisgl_tutor.scheduler.req import Req


def make_req(prompt: list[int], max_tokens: int, uid: int = 0) -> Req:
    return Req.of_prompt(uid, prompt, max_tokens, SamplingParams(), seed=0)


def compute(req: Req, length: int) -> None:
    """As if a step had computed ``req`` up to ``length``."""
    req.launch(length)
    req.drain(length)


def test_admission_gives_the_pages_of_the_prompt_and_sets_the_others_aside() -> None:
    manager = CacheManager(10, 4, RadixCache(4))
    req = make_req([1] * 9, max_tokens=8)
    assert manager.admit(req)
    # The last of the 17 tokens is never fed back, so 16 positions need K/V.
    assert (len(req.pages), req.rest, req.reserved, manager.available) == (3, 1, 1, 6)


def test_an_optimistic_admission_sets_no_more_than_the_head_room_aside() -> None:
    manager = CacheManager(10, 4, RadixCache(4), head_room=2)
    long, short = make_req([1] * 9, max_tokens=100), make_req([2] * 4, max_tokens=5)
    assert manager.admit(long)
    assert (len(long.pages), long.rest, long.reserved) == (3, 24, 2)
    assert manager.admit(short)
    assert (len(short.pages), short.rest, short.reserved) == (1, 1, 1)
    assert (manager.reserved, manager.available) == (3, 3)
    assert manager.grow(long, 20)
    # Two pages on, it still looks two further ahead.
    assert (long.rest, long.reserved, manager.available) == (22, 2, 1)
    assert not manager.admit(make_req([3] * 4, max_tokens=5))


def test_an_optimistic_admission_leaves_a_page_for_each_that_can_need_one() -> None:
    manager = CacheManager(6, 1, NaiveCache(), head_room=1)
    reqs = [make_req([uid], max_tokens=9, uid=uid) for uid in range(4)]
    assert [manager.admit(req) for req in reqs] == [True, True, True, False]
    assert all(manager.grow(req, 2) for req in reqs[:3])
    assert manager.available == -3


def test_growing_without_room_changes_nothing() -> None:
    manager = CacheManager(3, 2, RadixCache(2), head_room=1)
    req = make_req([1, 2], max_tokens=9)
    assert manager.admit(req)
    assert not manager.grow(req, 8)
    assert (len(req.pages), req.rest, len(manager.free_pages)) == (1, 4, 2)
    assert manager.grow(req, 6)
    assert manager.room == 0
    assert manager.grow(req, 6)
    assert not manager.grow(req, 7)


def test_a_prompt_is_shared_even_if_pages_are_lacking() -> None:
    """What only becomes shared takes nothing from anybody."""
    manager = CacheManager(5, 1, RadixCache(1), head_room=1)
    one, two = make_req([1, 2], 9), make_req([3], 9)
    for req in (one, two):
        assert manager.admit(req)
        compute(req, req.prompt_len)
    assert manager.grow(two, 3)
    assert manager.available < 0
    manager.keep_prefix(one)
    assert len(manager.prefix_cache.path(one.prefix)) == 2


def test_a_request_that_does_not_fit_changes_nothing() -> None:
    manager = CacheManager(4, 4, RadixCache(4))
    assert manager.admit(make_req([1] * 8, max_tokens=5))
    req = make_req([1] * 8, max_tokens=5)
    assert not manager.admit(req)
    assert (req.reserved, manager.available) == (0, 1)


def test_a_request_that_does_not_fit_leaves_its_cached_prefix_evictable() -> None:
    manager = CacheManager(4, 1, RadixCache(1))
    done = make_req([1, 2], max_tokens=1)
    manager.admit(done)
    manager.grow(done, 2)
    compute(done, 2)
    manager.release(done)
    assert not manager.admit(make_req([1, 2, 3], max_tokens=3))
    assert manager.prefix_cache.evictable == 2
    manager.prefix_cache.check([])


def test_pages_come_from_what_is_reserved_as_positions_are_needed() -> None:
    manager = CacheManager(10, 4, NaiveCache())
    req = make_req([1] * 6, max_tokens=7)
    manager.admit(req)
    assert (len(req.pages), req.reserved) == (2, 1)
    manager.grow(req, 8)
    assert (len(req.pages), req.reserved) == (2, 1)
    manager.grow(req, 12)
    assert (len(req.pages), req.reserved, manager.reserved) == (3, 0, 0)
    assert len(set(req.pages)) == 3
    manager.release(req)
    assert manager.available == len(manager.free_pages) == 10


@pytest.mark.parametrize(("prompt", "cached"), [([1] * 8, 4), ([1] * 9, 8), ([1] * 4, 0), ([1] * 5, 4)])
def test_at_least_one_prompt_token_is_computed(prompt: list[int], cached: int) -> None:
    manager = CacheManager(10, 4, RadixCache(4))
    first = make_req([1] * 8, max_tokens=1)
    manager.admit(first)
    manager.grow(first, 8)
    compute(first, 8)
    manager.release(first)
    second = make_req(prompt, max_tokens=1)
    manager.admit(second)
    assert second.cached_len == second.launched_len == cached


def test_a_page_that_the_cache_took_over_is_shared_and_a_duplicate_is_not() -> None:
    manager = CacheManager(10, 2, RadixCache(2))
    one, two = make_req([1, 2, 3, 4], 3), make_req([1, 2, 3, 4], 3)
    for req in (one, two):
        manager.admit(req)
        manager.grow(req, 4)
        compute(req, 4)
    manager.keep_prefix(one)
    manager.keep_prefix(two)
    own = list(two.pages)
    assert manager.prefix_cache.path(two.prefix) == one.pages != own
    manager.release(two)
    assert set(own) <= set(manager.free_pages)
    manager.release(one)
    assert manager.available == 10
    assert manager.prefix_cache.evictable == 2


def test_a_token_without_kv_is_not_cached() -> None:
    manager = CacheManager(10, 2, RadixCache(2))
    req = make_req([1, 2, 3], 1)
    manager.admit(req)
    manager.grow(req, 3)
    compute(req, 3)
    req.append_host(4)
    manager.release(req)
    again = make_req([1, 2, 3, 4, 5], 1)
    manager.admit(again)
    assert again.cached_len == 2


def test_kv_of_an_unknown_token_is_not_cached() -> None:
    """An aborted request may have computed K/V of a token that was never read."""
    manager = CacheManager(10, 1, RadixCache(1))
    req = make_req([1, 2], 5)
    manager.admit(req)
    manager.grow(req, 3)
    compute(req, 3)
    manager.release(req)
    assert manager.prefix_cache.evictable == 2


def test_cached_pages_make_room_for_what_is_needed() -> None:
    manager = CacheManager(4, 2, RadixCache(2))
    for prompt in ([1, 2, 3, 4], [5, 6, 7, 8]):
        req = make_req(prompt, 1)
        manager.admit(req)
        manager.grow(req, 4)
        compute(req, 4)
        manager.release(req)
    assert manager.free_pages == []
    req = make_req([9, 9, 9], 1)
    assert manager.admit(req)
    manager.grow(req, 3)
    assert len(req.pages) == 2
    # The older prefix made room.
    newer = make_req([5, 6, 7, 8, 0], 1)
    assert len(manager.prefix_cache.match(newer.token_ids[:4]).pages) == 2


def test_sharing_may_use_the_last_page_that_is_not_promised() -> None:
    manager = CacheManager(4, 1, RadixCache(1))
    one, two = make_req([1, 2], 1), make_req([1, 2], 1)
    for req in (one, two):
        assert manager.admit(req)
        manager.grow(req, 2)
        compute(req, 2)
    manager.release(one)
    manager.keep_prefix(two)
    assert two.prefix is not None
    assert len(manager.prefix_cache.path(two.prefix)) == 2
    assert manager.available == 0


def test_sharing_never_takes_pages_that_are_promised() -> None:
    """Cached pages that count as room for others cannot be locked as somebody's duplicate."""
    manager = CacheManager(6, 1, RadixCache(1))
    one, two = make_req([1, 2], 1), make_req([1, 2], 3)
    for req in (one, two):
        assert manager.admit(req)
        manager.grow(req, 2)
        compute(req, 2)
    manager.release(one)
    three = make_req([3, 3], 1)
    assert manager.admit(three)
    assert manager.available == 0
    manager.keep_prefix(two)
    assert manager.available == 0
    manager.grow(three, 2)
    manager.grow(two, 4)
    assert not set(two.pages) & set(three.pages)
    assert manager.reserved == 0
