"""Retraction: when pages run out the youngest starts over, and nobody outside can tell."""

from typing import Any

import pytest

from minisgl_tutor.engine.hashing import HashingEngine
from minisgl_tutor.message import DetokenizeMsg, Usage
from minisgl_tutor.scheduler.gauges import gauges

EOS = 2
both_loops = pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])
sizes = pytest.mark.parametrize(("page_size", "num_pages"), [(1, 20), (16, 3)])


def tight(make_rig: Any, **options: Any) -> Any:
    """Two requests of 6 tokens in and 10 out, which need 15 pages each, in a pool of 20."""
    return make_rig(
        **{"page_size": 1, "num_pages": 20, "admission": "optimistic", "head_room": 1, "cache": "naive"}
        | options
    )


def rounds_until_retracted(rig: Any, uid: int) -> list[Any]:
    """Rounds until ``uid`` waits with nothing; their replies."""
    replies = rig.round()
    for _ in range(100):
        if uid in rig.scheduler.prefill_manager.waiting and uid not in rig.scheduler.decode_manager.running:
            assert rig.scheduler.held()[uid] == {"waiting": 1}
            return replies
        replies += rig.round()
    raise AssertionError("never retracted")


@both_loops
def test_the_youngest_starts_over_and_gets_every_token_once(
    make_rig: Any, tokens_of: Any, ends_of: Any, overlap: bool
) -> None:
    rig = tight(make_rig, overlap=overlap)
    for uid in range(2):
        rig.send(uid, 6, max_tokens=10)
    replies = rounds_until_retracted(rig, 1)
    assert list(rig.scheduler.decode_manager.running) == [0]
    replies += rig.finish()
    for uid in range(2):
        assert tokens_of(replies, uid) == list(range(10, 20))
        assert ends_of(replies, uid) == ["length"]
    assert {msg.usage for msg in replies if msg.finished} == {Usage(6, 10, 0)}
    again = [batch for batch in rig.engine.batches if batch.phase == "prefill"][-1]
    assert (again.uids, again.cached_lens.tolist()) == ([1], [0])
    assert gauges(rig.scheduler)["num_preemptions"] == 1
    # Its prompt and what it had, and the token behind these is the next.
    assert again.input_ids.tolist() == [*range(10, 16), *range(10, 10 + again.seq_lens[0] - 6)]
    assert again.sampling.positions.tolist() == again.seq_lens.tolist()
    rig.assert_all_free()


@both_loops
@sizes
@pytest.mark.parametrize("cache", ["radix", "naive"])
@pytest.mark.parametrize("budget", [3, 2048])
def test_the_answers_are_those_of_an_undisturbed_run(
    make_rig: Any, tokens_of: Any, overlap: bool, page_size: int, num_pages: int, cache: str, budget: int
) -> None:
    rig = tight(
        make_rig,
        engine=lambda info: HashingEngine(info, lag=True),
        overlap=overlap,
        page_size=page_size,
        num_pages=num_pages,
        cache=cache,
        prefill_budget=budget,
    )
    length = min(num_pages * page_size, 40)
    prompts = {uid: [uid + 3, *range(5)] for uid in range(4)}
    for uid, prompt in prompts.items():
        rig.send(uid, prompt, max_tokens=length - len(prompt), ignore_eos=True)
    replies = rounds_until_retracted(rig, 1) + rig.finish()
    for uid, prompt in prompts.items():
        assert tokens_of(replies, uid) == rig.engine.expected_tokens(prompt, length - len(prompt))
    rig.assert_all_free()


@both_loops
def test_draws_are_those_of_an_undisturbed_run(make_rig: Any, overlap: bool) -> None:
    """Each token of a request is drawn once, at its own position, by the request's seed."""
    rig = tight(make_rig, overlap=overlap)
    for uid in range(2):
        rig.send(uid, 6, max_tokens=10, temperature=1.0, seed=uid + 40)
    rig.finish()
    draws = [
        (uid, position, seed)
        for batch in rig.engine.batches
        for uid, emits, position, seed in zip(
            batch.uids,
            batch.emits.tolist(),
            batch.sampling.positions.tolist(),
            batch.sampling.seeds.tolist(),
            strict=True,
        )
        if emits
    ]
    assert sorted(draws) == [(uid, position, uid + 40) for uid in range(2) for position in range(6, 16)]


def test_the_token_in_flight_of_a_retracted_one_is_taken_in(make_rig: Any, tokens_of: Any) -> None:
    rig = tight(make_rig, overlap=True, num_pages=21)
    for uid in range(2):
        rig.send(uid, 6, max_tokens=10)
    before = rig.round()
    while rig.scheduler.decode_manager.running.get(1) or len(rig.engine.batches) < 2:
        replies = rig.round()
        before += replies
    # The round that retracted it still told a token of it, and launched none.
    assert len(tokens_of(replies, 1)) == 1
    assert rig.engine.batches[-1].uids == [0]
    assert rig.scheduler.requests[1].prefill_len == 6 + len(tokens_of(before, 1))


def test_the_token_in_flight_of_a_retracted_one_may_be_its_last(make_rig: Any, ends_of: Any) -> None:
    """Four tokens each, then there is no page for a fifth of the younger one, whose EOS is under way."""
    rig = tight(make_rig, overlap=True, script={1: [10, 11, 12, 13, EOS]})
    for uid in range(2):
        rig.send(uid, 6, max_tokens=10)
    replies = rig.finish()
    assert [batch.uids for batch in rig.engine.batches if batch.phase == "prefill"] == [[0, 1]]
    assert [msg.usage for msg in replies if msg.uid == 1 and msg.finished] == [Usage(6, 5, 0)]
    assert ends_of(replies, 1) == ["stop"]
    rig.assert_all_free()


def test_pages_that_come_back_anyway_are_waited_for(make_rig: Any) -> None:
    """The last token of one is in flight: it is not worth to retract another for its pages."""
    rig = tight(make_rig, overlap=True)
    rig.send(0, 6, max_tokens=5)
    rig.send(1, 6, max_tokens=10)
    rig.finish()
    assert [batch.uids for batch in rig.engine.batches if batch.phase == "prefill"] == [[0, 1]]


def test_who_is_retracted_waits_before_all_who_arrived_later(make_rig: Any) -> None:
    rig = tight(make_rig, overlap=False, num_slots=3)
    for uid in (7, 4, 9, 2):
        rig.send(uid, 4, max_tokens=12)
    replies = rounds_until_retracted(rig, 9)
    assert list(rig.scheduler.prefill_manager.waiting) == [9, 2]
    replies += rounds_until_retracted(rig, 4)
    assert list(rig.scheduler.prefill_manager.waiting) == [4, 9, 2]
    replies += rig.finish()
    assert [msg.uid for msg in replies if msg.finished] == [7, 4, 9, 2]


def test_the_prefix_cache_helps_and_is_not_told_as_a_hit(make_rig: Any) -> None:
    """``cached_tokens`` is the part of the prompt that was cached when the request came."""
    rig = tight(make_rig, overlap=False, cache="radix")
    for uid in range(2):
        rig.send(uid, 6, max_tokens=10)
    replies = rounds_until_retracted(rig, 1) + rig.finish()
    again = [batch for batch in rig.engine.batches if batch.phase == "prefill"][-1]
    assert again.uids == [1]
    assert again.cached_lens[0] > 0
    assert {msg.usage for msg in replies if msg.finished} == {Usage(6, 10, 0)}
    rig.assert_all_free()


@both_loops
def test_aborted_while_it_waits_again(make_rig: Any, tokens_of: Any, overlap: bool) -> None:
    rig = tight(make_rig, overlap=overlap)
    for uid in range(2):
        rig.send(uid, 6, max_tokens=10)
    replies = rounds_until_retracted(rig, 1)
    told = len(tokens_of(replies, 1))
    rig.abort(1)
    replies = rig.finish()
    assert [msg for msg in replies if msg.uid == 1] == [
        DetokenizeMsg(1, finished=True, finish_reason="abort", usage=Usage(6, told, 0))
    ]
    rig.assert_all_free()


@both_loops
def test_aborted_between_the_chunks_of_what_is_computed_again(
    make_rig: Any, tokens_of: Any, overlap: bool
) -> None:
    rig = tight(make_rig, overlap=overlap, prefill_budget=3)
    for uid in range(2):
        rig.send(uid, 6, max_tokens=10)
    replies = rounds_until_retracted(rig, 1)
    while rig.scheduler.requests[1].slot is None:
        replies += rig.round()
    told = len(tokens_of(replies, 1))
    assert rig.scheduler.requests[1].launched_len == 3
    rig.abort(1)
    assert [msg for msg in rig.finish() if msg.uid == 1] == [
        DetokenizeMsg(1, finished=True, finish_reason="abort", usage=Usage(6, told, 0))
    ]
    rig.assert_all_free()


@both_loops
def test_who_is_alone_gets_the_whole_pool(make_rig: Any, tokens_of: Any, overlap: bool) -> None:
    """Even if pages that it computed a second time lie in the cache, locked by itself."""
    rig = tight(make_rig, overlap=overlap, num_pages=10, cache="radix")
    rig.send(0, [5] * 5, max_tokens=1)
    rig.finish()
    rig.send(1, [5] * 5, max_tokens=100)
    replies = rig.finish()
    assert tokens_of(replies, 1) == list(range(10, 15))
    rig.assert_all_free()


@both_loops
def test_with_the_policy_reserve_nobody_starts_over(make_rig: Any, overlap: bool) -> None:
    rig = tight(make_rig, overlap=overlap, admission="reserve")
    for uid in range(2):
        rig.send(uid, 6, max_tokens=10)
    rig.finish()
    assert [batch.uids for batch in rig.engine.batches if batch.phase == "prefill"] == [[0], [1]]
