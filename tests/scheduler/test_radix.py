import random
from collections.abc import Callable

import numpy as np
import pytest

from minisgl_tutor.scheduler.problems import IntegrityError
from minisgl_tutor.scheduler.radix import RadixCache

Ids = Callable[[list[int]], np.ndarray]


def test_a_key_shorter_than_a_page_matches_nothing(as_ids: Ids) -> None:
    cache = RadixCache(page_size=4)
    cache.insert(as_ids([1, 2, 3, 4]), [7])
    assert cache.match(as_ids([1, 2, 3])).pages == []
    assert cache.match(as_ids([])).pages == []


def test_a_match_covers_whole_pages_only(as_ids: Ids) -> None:
    cache = RadixCache(page_size=4)
    cache.insert(as_ids([1, 2, 3, 4, 5, 6, 7, 8]), [7, 9])
    assert cache.match(as_ids([1, 2, 3, 4, 5, 6, 7])).pages == [7]
    assert cache.match(as_ids([1, 2, 3, 4, 5, 6, 7, 8, 9])).pages == [7, 9]
    assert cache.match(as_ids([1, 2, 3, 4, 5, 6, 0, 8])).pages == [7]
    assert cache.match(as_ids([0, 2, 3, 4])).pages == []


def test_what_the_tree_has_already_stays_the_callers(as_ids: Ids) -> None:
    cache = RadixCache(page_size=2)
    cache.insert(as_ids([1, 2, 3, 4]), [10, 11])
    longer = cache.insert(as_ids([1, 2, 3, 4, 5, 6]), [20, 21, 22])
    assert longer.pages == [10, 11, 22]
    assert sorted(cache.check([])) == [10, 11, 22]


def test_sequences_that_part_share_a_node_up_to_there(as_ids: Ids) -> None:
    cache = RadixCache(page_size=2)
    cache.insert(as_ids([1, 2, 3, 4, 5, 6]), [10, 11, 12])
    other = cache.insert(as_ids([1, 2, 3, 4, 9, 9]), [20, 21, 22])
    assert other.pages == [10, 11, 22]
    assert cache.match(as_ids([1, 2, 3, 4, 5, 6])).pages == [10, 11, 12]


def test_a_lock_survives_a_split_of_the_node_it_ends_in(as_ids: Ids) -> None:
    cache = RadixCache(page_size=1)
    mine = cache.insert(as_ids([1, 2, 3, 4]), [10, 11, 12, 13])
    cache.lock(mine)
    cache.insert(as_ids([1, 2, 9]), [20, 21, 22])
    cache.check([mine])
    assert cache.path(mine) == [10, 11, 12, 13]
    assert cache.evictable == 1
    assert cache.evict(5) == [22]
    cache.unlock(mine)
    cache.check([])
    assert sorted(cache.evict(5)) == [10, 11, 12, 13]


def test_the_least_recently_used_goes_first_and_only_from_the_end(as_ids: Ids) -> None:
    cache = RadixCache(page_size=1)
    cache.insert(as_ids([1, 2, 3]), [10, 11, 12])
    cache.insert(as_ids([5, 6]), [20, 21])
    used = cache.match(as_ids([1, 2, 3]))
    cache.lock(used)
    cache.unlock(used)
    assert cache.evict(1) == [21]
    assert cache.evict(2) == [20, 12]
    assert cache.match(as_ids([1, 2, 3])).pages == [10, 11]


def test_offering_what_is_there_counts_as_a_use(as_ids: Ids) -> None:
    cache = RadixCache(page_size=1)
    cache.insert(as_ids([1]), [10])
    cache.insert(as_ids([2]), [20])
    cache.insert(as_ids([1]), [30])
    assert cache.evict(1) == [20]


def test_what_is_new_was_used_last(as_ids: Ids) -> None:
    cache = RadixCache(page_size=1)
    used = cache.insert(as_ids([1]), [10])
    cache.lock(used)
    cache.unlock(used)
    cache.insert(as_ids([2]), [20])
    assert cache.evict(1) == [10]


def test_an_inner_node_can_go_once_all_behind_it_are_gone(as_ids: Ids) -> None:
    cache = RadixCache(page_size=1)
    cache.insert(as_ids([1, 2]), [10, 11])
    cache.insert(as_ids([1, 3]), [99, 12])
    assert sorted(cache.evict(2)) == [11, 12]
    assert cache.evict(1) == [10]
    assert cache.check([]) == []


def test_eviction_says_what_it_cannot_give(as_ids: Ids) -> None:
    cache = RadixCache(page_size=1)
    locked = cache.insert(as_ids([1, 2]), [10, 11])
    cache.insert(as_ids([3]), [12])
    cache.lock(locked)
    assert cache.evictable == 1
    assert cache.evict(3) == [12]
    assert cache.evictable == 0


def test_the_same_calls_evict_the_same_pages() -> None:
    def history() -> list[int]:
        rng = random.Random(5)
        cache = RadixCache(page_size=2)
        freed: list[int] = []
        for page in range(0, 400, 4):
            tokens = np.array([rng.randrange(3) for _ in range(8)], np.int32)
            new = set(range(page, page + 4))
            freed += new - set(cache.insert(tokens, list(range(page, page + 4))).pages)
            if rng.random() < 0.5:
                freed += cache.evict(3)
        return freed

    assert history() == history()


@pytest.mark.parametrize("page_size", [1, 2, 4])
def test_random_use_against_a_table_of_all_prefixes(page_size: int) -> None:
    """The trusted peer: a plain dictionary from each cached beginning to its pages."""
    rng = random.Random(page_size)
    cache = RadixCache(page_size)
    table: dict[tuple[int, ...], int] = {}
    locked = []
    next_page = 0
    for _ in range(600):
        tokens = tuple(rng.randrange(2) for _ in range(rng.randint(0, 7 * page_size)))
        whole = len(tokens) // page_size
        beginnings = [tokens[: (i + 1) * page_size] for i in range(whole)]
        action = rng.choice(["match", "insert", "lock", "unlock", "evict"])
        found = cache.match(np.array(tokens, np.int32))
        assert found.pages == [table[key] for key in beginnings if key in table]
        if action == "insert":
            pages = list(range(next_page, next_page + whole))
            next_page += whole
            kept = cache.insert(np.array(tokens[: whole * page_size], np.int32), pages)
            for key, page in zip(beginnings, pages, strict=True):
                table.setdefault(key, page)
            assert kept.pages == [table[key] for key in beginnings]
        elif action == "lock":
            cache.lock(found)
            locked.append((found, beginnings[: len(found.pages)]))
        elif action == "unlock" and locked:
            prefix, _ = locked.pop(rng.randrange(len(locked)))
            cache.unlock(prefix)
        elif action == "evict":
            count = rng.randint(1, 5)
            evictable = cache.evictable
            freed = cache.evict(count)
            assert len(freed) == min(count, evictable)
            table = {key: page for key, page in table.items() if page not in freed}
            # No hole: what is left has all its beginnings.
            assert all(key[:-page_size] in table for key in table if len(key) > page_size)
        protected = {table[key] for _, keys in locked for key in keys}
        assert cache.evictable == len(table) - len(protected)
        assert sorted(cache.check([prefix for prefix, _ in locked])) == sorted(table.values())


def _damage_count(cache: RadixCache) -> None:
    cache.evictable += 1


def _damage_pages(cache: RadixCache) -> None:
    next(cache._nodes()).pages.append(5)


def _damage_lock(cache: RadixCache) -> None:
    next(cache._nodes()).locks += 1


def _damage_key(cache: RadixCache) -> None:
    node = next(cache._nodes())
    node.key = node.key + 1


def _damage_queue(cache: RadixCache) -> None:
    for node in cache._nodes():
        node.queued = False


def _damage_emptied(cache: RadixCache) -> None:
    node = next(cache._nodes())
    node.pages, node.key = [], node.key[:0]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (_damage_count, "2 cached pages are evictable, counted as 3"),
        (_damage_pages, "has 3 pages for 4 tokens"),
        (_damage_emptied, "has 0 pages for 0 tokens"),
        (_damage_lock, "counts 1 locks; requests have 0"),
        (_damage_key, "not where its parent looks for it"),
        (_damage_queue, "can never be evicted"),
    ],
)
def test_the_check_notices_damage(damage: Callable[[RadixCache], None], message: str, as_ids: Ids) -> None:
    cache = RadixCache(page_size=2)
    cache.insert(as_ids([1, 2, 3, 4]), [10, 11])
    cache.check([])
    damage(cache)
    with pytest.raises(IntegrityError, match=message):
        cache.check([])


def test_the_check_notices_a_lock_on_a_node_that_is_gone(as_ids: Ids) -> None:
    cache = RadixCache(page_size=2)
    prefix = cache.insert(as_ids([1, 2]), [10])
    cache.evict(1)
    with pytest.raises(IntegrityError, match="no longer in the prefix tree"):
        cache.check([prefix])
