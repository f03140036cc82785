"""Reported faults of schedulers and their caches (E of ``docs/cases.md``)."""

from __future__ import annotations

from typing import Any

import pytest

from minisgl_tutor.engine.hashing import HashingEngine
from minisgl_tutor.message import ErrorReply
from minisgl_tutor.scheduler.problems import IntegrityError
from minisgl_tutor.scheduler.radix import RadixCache

both_loops = pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])
both_admissions = pytest.mark.parametrize("admission", ["optimistic", "reserve"])


def prompt(count: int, start: int = 3) -> list[int]:
    return [(start + index) % 50 + 3 for index in range(count)]


def hashed(make_rig: Any, **options: Any) -> Any:
    return make_rig(**{"engine": HashingEngine, "vocab_size": 10_000, **options})


@both_loops
@both_admissions
def test_case_e1_a_request_that_outgrows_the_pool_ends_at_its_last_page(
    make_rig: Any, tokens_of: Any, ends_of: Any, overlap: bool, admission: str
) -> None:
    """Two pages of four hold a prompt of 7 and one generated token; its last token needs no page."""
    rig = make_rig(page_size=4, num_pages=2, overlap=overlap, admission=admission)
    rig.send(0, 7, max_tokens=10, ignore_eos=True)
    replies = rig.finish()
    assert ends_of(replies, 0) == ["length"] and len(tokens_of(replies, 0)) == 1
    assert len(rig.engine.batches) < 20
    rig.send(1, 3, max_tokens=2)
    assert ends_of(rig.finish(), 1) == ["length"]
    rig.assert_all_free()


@both_loops
@both_admissions
def test_case_e1_a_neighbour_gets_all_its_tokens(
    make_rig: Any, tokens_of: Any, ends_of: Any, overlap: bool, admission: str
) -> None:
    options = {"page_size": 4, "num_pages": 6, "overlap": overlap, "admission": admission, "head_room": 1}
    answers = []
    for both in (False, True):
        rig = hashed(make_rig, **options)
        rig.send(0, 8, max_tokens=8, ignore_eos=True)
        if both:
            rig.send(1, 8, max_tokens=30, ignore_eos=True)
        replies = rig.finish()
        answers.append(tokens_of(replies, 0))
    assert len(answers[0]) == 8 and answers[1] == answers[0]
    assert ends_of(replies, 1) == ["length"] and len(tokens_of(replies, 1)) == 6 * 4 - 8
    rig.assert_all_free()


@both_loops
def test_case_e2_what_cannot_fit_holds_nobody_up(
    make_rig: Any, tokens_of: Any, ends_of: Any, overlap: bool
) -> None:
    """The context is longer than the pool: the smaller of the two is the limit, and is told."""
    rig = make_rig(max_seq_len=256, page_size=4, num_pages=16, overlap=overlap)
    rig.send(1, 100)
    rig.send(2, 4, max_tokens=4)
    rig.send(3, 60, max_tokens=60)
    (refusal, *_) = replies = rig.round()
    assert isinstance(refusal, ErrorReply) and refusal.uid == 1 and refusal.status == 400
    assert "64 tokens" in refusal.message
    replies += rig.finish()
    assert ends_of(replies, 2) == ["length"] and len(tokens_of(replies, 2)) == 4
    assert ends_of(replies, 3) == ["length"] and len(tokens_of(replies, 3)) == 4
    rig.assert_all_free()


@both_loops
@pytest.mark.parametrize("second", [8, 4])
def test_case_e3_a_prompt_of_cached_pages_alone_still_computes_a_token(
    make_rig: Any, tokens_of: Any, overlap: bool, second: int
) -> None:
    cold = hashed(make_rig, page_size=4, overlap=overlap)
    cold.send(0, prompt(second), max_tokens=3)
    expected = tokens_of(cold.finish(), 0)
    rig = hashed(make_rig, page_size=4, overlap=overlap)
    rig.send(1, prompt(8), max_tokens=3)
    rig.finish()
    rig.send(2, prompt(second), max_tokens=3)
    replies = rig.finish()
    assert tokens_of(replies, 2) == expected
    (usage,) = [msg.usage for msg in replies if msg.finished]
    assert usage.cached_tokens <= second - 1
    rig.assert_all_free()


@both_loops
def test_case_e3_no_step_without_a_token(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(page_size=4, overlap=overlap)
    for uid, count in enumerate((8, 8, 4, 16, 12)):
        rig.send(uid, prompt(count), max_tokens=3)
        rig.finish()
    for batch in rig.engine.batches:
        assert (batch.seq_lens > batch.cached_lens).all() and len(batch.uids) > 0


@both_loops
def test_case_e3_who_gave_its_pages_back_starts_over_by_a_prefill(
    make_rig: Any, tokens_of: Any, overlap: bool
) -> None:
    answers = []
    for num_pages in (40, 8):
        rig = hashed(make_rig, page_size=4, num_pages=num_pages, overlap=overlap, head_room=1, cache="naive")
        rig.send(0, prompt(8), max_tokens=16, ignore_eos=True)
        rig.send(1, prompt(8, start=20), max_tokens=16, ignore_eos=True)
        replies = rig.finish()
        answers.append([tokens_of(replies, uid) for uid in range(2)])
        rig.assert_all_free()
    assert answers[0] == answers[1]


def test_case_e3_the_prefill_after_that_has_the_generated_tokens_too(make_rig: Any) -> None:
    rig = make_rig(page_size=4, num_pages=8, head_room=1, cache="naive", overlap=False)
    rig.send(0, 8, max_tokens=16, ignore_eos=True)
    rig.send(1, 8, max_tokens=16, ignore_eos=True)
    rig.finish()
    first, again = [batch for batch in rig.engine.batches if batch.phase == "prefill" and 1 in batch.uids]
    generated = int(again.seq_lens[0]) - 8
    assert first.seq_lens.tolist() == [8, 8] and generated >= 1
    assert again.input_ids.tolist()[8:] == list(range(10, 10 + generated))


# -- E5


def books(cache: RadixCache, locked: list[Any]) -> tuple[int, int]:
    """Evictable and protected pages, after the check of the tree."""
    pages = cache.check(locked)
    protected = len(pages) - cache.evictable
    assert len(set(pages)) == len(pages) and protected >= 0 and cache.evictable >= 0
    return cache.evictable, protected


def test_case_e5_the_books_add_up_after_each_operation(as_ids: Any) -> None:
    """Keys that are no whole pages are cut to whole pages; a key below a page is nothing."""
    cache = RadixCache(page_size=4)
    assert cache.match(as_ids([1, 2, 3])).pages == []
    free = list(range(100, 130))

    def insert(key: list[int]) -> Any:
        whole = len(key) // 4
        mine = [free.pop() for _ in range(whole)]
        prefix = cache.insert(as_ids(key[: whole * 4]), mine)
        free.extend(page for page in mine if page not in prefix.pages)
        return prefix

    one_to = list(range(1, 20))
    insert(one_to[:3])
    assert books(cache, []) == (0, 0)
    insert(one_to[:5])
    assert books(cache, []) == (1, 0)
    insert(one_to[:8])
    assert books(cache, []) == (2, 0)
    insert([*one_to[:6], 99, 99, 99, 99, 99])  # parts from the others within its second page
    assert books(cache, []) == (3, 0)
    path = cache.match(as_ids(one_to[:8]))
    cache.lock(path)
    assert books(cache, [path]) == (1, 2)
    freed = cache.evict(1)
    assert len(freed) == 1 and not set(freed) & set(cache.path(path))
    free += freed
    assert books(cache, [path]) == (0, 2)
    assert cache.evict(5) == []  # it cannot, and says so
    assert cache.path(path) == path.pages
    cache.unlock(path)
    assert books(cache, []) == (2, 0)
    free += cache.evict(cache.evictable)
    assert books(cache, []) == (0, 0)
    assert sorted(free) == list(range(100, 130))


def test_case_e5_damage_is_noticed(as_ids: Any, make_rig: Any) -> None:
    cache = RadixCache(page_size=4)
    cache.insert(as_ids([1, 2, 3, 4]), [7])
    cache.evictable += 1
    with pytest.raises(IntegrityError):
        cache.check([])

    rig = make_rig(page_size=4)
    for uid, start in enumerate((3, 20)):
        rig.send(uid, prompt(8, start), max_tokens=2)
        rig.finish()
    one, other = [node for node in rig.scheduler.cache_manager.prefix_cache._nodes() if node.pages][:2]
    one.pages[0] = other.pages[0]
    with pytest.raises(IntegrityError):
        rig.scheduler.check_integrity()


# -- E6


@both_loops
@pytest.mark.parametrize("rounds", [0, 1, 2, 3, 4, 5])
def test_case_e6_an_abort_between_chunks(
    make_rig: Any, tokens_of: Any, ends_of: Any, overlap: bool, rounds: int
) -> None:
    """A prompt of 16 in chunks of 4: while waiting, after each chunk, in the last one, after a token."""
    options = {"page_size": 4, "prefill_budget": 4, "overlap": overlap}
    solo = hashed(make_rig, **options)
    solo.send(1, prompt(3, start=30), max_tokens=20, ignore_eos=True)
    b_alone = tokens_of(solo.finish(), 1)
    solo.send(2, prompt(16), max_tokens=5, ignore_eos=True)
    expected = tokens_of(solo.finish(), 2)

    rig = hashed(make_rig, **options)
    rig.send(1, prompt(3, start=30), max_tokens=20, ignore_eos=True)
    replies = rig.round(3)
    rig.send(0, prompt(16), max_tokens=20, ignore_eos=True)
    replies += rig.round(rounds)
    rig.abort(0)
    after = rig.round(2)
    assert tokens_of(after, 0) == []
    assert 0 not in rig.scheduler.held()
    assert len(rig.scheduler.table_manager.free_slots) == rig.engine.info.num_slots - 1
    replies += after + rig.finish()
    assert ends_of(replies, 0) == ["abort"]
    assert tokens_of(replies, 1) == b_alone
    rig.send(2, prompt(16), max_tokens=5, ignore_eos=True)
    assert tokens_of(rig.finish(), 2) == expected
    rig.assert_all_free()


# -- E8


def test_case_e8_first_come_first_served_and_the_large_one_is_not_starved(
    make_rig: Any, ends_of: Any
) -> None:
    """A choice: nobody overtakes. Small ones wait behind a large one until A's pages are free."""
    rig = make_rig(page_size=4, num_pages=20, num_slots=16, admission="reserve", cache="naive", overlap=False)
    rig.send(0, 8, max_tokens=40, ignore_eos=True)  # 12 pages
    replies = rig.round()
    rig.send(1, 20, max_tokens=20, ignore_eos=True)  # 10 pages
    for uid in (2, 3, 4):
        rig.send(uid, 4, max_tokens=4, ignore_eos=True)
    replies += rig.round()
    table, uid = [], 5
    while 1 in rig.scheduler.prefill_manager.waiting:
        rig.send(uid, 4, max_tokens=4, ignore_eos=True)  # one more small one a step
        uid += 1
        replies += rig.round()
        table.append(rig.engine.steps[-1])
        assert uid < 80
    assert ends_of(replies, 0) == ["length"]
    assert [kind for kind, uids in table if set(uids) & {0}] == ["decode"] * (len(table) - 1)
    assert table[-1][0] == "prefill" and table[-1][1][0] == 1  # in the round after A's last token
    assert all(not set(uids) - {0} for _, uids in table[:-1])
    replies += rig.finish()
    assert all(ends_of(replies, each) == ["length"] for each in range(uid))
    started = [uids for kind, uids in rig.engine.steps if kind == "prefill"]
    order = [each for uids in started for each in uids]
    assert order == sorted(order)
    rig.assert_all_free()


def test_case_e8_optimistic_admission_lets_the_large_one_in_earlier(make_rig: Any, ends_of: Any) -> None:
    """The default counts on what is used and not on what may be: then there is room beside A."""
    rig = make_rig(page_size=4, num_pages=20, num_slots=16, head_room=4, cache="naive", overlap=False)
    rig.send(0, 8, max_tokens=40, ignore_eos=True)
    rig.round()
    rig.send(1, 20, max_tokens=20, ignore_eos=True)
    rig.send(2, 4, max_tokens=4, ignore_eos=True)
    rig.round()
    assert rig.engine.steps[-1] == ("prefill", [1, 2])
    replies = rig.finish()
    assert [ends_of(replies, uid)[-1:] or ["length"] for uid in range(3)] == [["length"]] * 3
    rig.assert_all_free()


@pytest.mark.parametrize("admission", ["optimistic", "reserve"])
def test_case_e8_there_is_no_idle_round_while_something_waits(make_rig: Any, admission: str) -> None:
    rig = make_rig(page_size=4, num_pages=10, num_slots=4, admission=admission, cache="naive", overlap=False)
    for uid in range(12):
        rig.send(uid, 4 + uid % 9, max_tokens=6 + uid % 5, ignore_eos=True)
    while rig.scheduler.busy or rig.inbox.frames:
        before = len(rig.engine.batches)
        rig.round()
        assert len(rig.engine.batches) == before + 1 or not rig.scheduler.busy
