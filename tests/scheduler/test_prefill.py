from typing import Any

import pytest

both_loops = pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])


@both_loops
def test_c2_76_a_long_prompt_is_computed_in_chunks_and_speaks_after_the_last(
    make_rig: Any, overlap: bool
) -> None:
    rig = make_rig(prefill_budget=4, overlap=overlap)
    rig.send(0, 10, max_tokens=1)
    replies = rig.round(2)
    assert replies == []
    rig.finish()
    assert [(b.cached_lens.tolist(), b.seq_lens.tolist(), b.emits.tolist()) for b in rig.engine.batches] == [
        ([0], [4], [False]),
        ([4], [8], [False]),
        ([8], [10], [True]),
    ]
    assert [token for b in rig.engine.batches for token in b.input_ids] == list(range(3, 13))


@pytest.mark.parametrize("budget", [1, 3, 5, 100])
def test_c2_84_no_batch_goes_over_the_budget(make_rig: Any, budget: int) -> None:
    rig = make_rig(prefill_budget=budget, num_slots=8)
    for uid in range(6):
        rig.send(uid, 5 + uid, max_tokens=2)
    rig.finish()
    sizes = [len(b.input_ids) for b in rig.engine.batches if b.phase == "prefill"]
    assert max(sizes) <= budget
    assert sum(sizes) == sum(5 + uid for uid in range(6))


def test_the_rest_of_the_budget_goes_to_the_next_in_the_queue(make_rig: Any) -> None:
    rig = make_rig(prefill_budget=8)
    for uid in range(3):
        rig.send(uid, 5)
    rig.round(2)
    assert [(b.uids, b.seq_lens.tolist()) for b in rig.engine.batches] == [([0, 1], [5, 3]), ([1, 2], [5, 5])]


def test_first_come_first_served_even_if_a_later_one_would_fit(make_rig: Any) -> None:
    """The order rule: the head of the queue waits for room, and nobody overtakes it."""
    rig = make_rig(num_pages=20, num_slots=16, cache="naive", overlap=False)
    rig.send(0, 20, max_tokens=29)
    rig.round()
    rig.send(1, 36, max_tokens=4)
    for uid in range(2, 5):
        rig.send(uid, 4, max_tokens=5)
    for uid in range(5, 45):
        rig.send(uid, 4, max_tokens=5)
        rig.round()
    rig.finish()
    prefilled = [uid for b in rig.engine.batches if b.phase == "prefill" for uid in b.uids]
    assert prefilled == list(range(45))
    steps = rig.engine.steps
    last_of_first = max(index for index, (_, uids) in enumerate(steps) if 0 in uids)
    assert steps[last_of_first + 1][1][0] == 1
    rig.assert_all_free()


def test_a_fully_cached_prompt_still_computes_its_last_token(make_rig: Any) -> None:
    rig = make_rig(page_size=4)
    for uid, length in enumerate([8, 8, 4, 9]):
        rig.send(uid, [5] * length, max_tokens=1)
        rig.finish()
    assert [len(b.input_ids) for b in rig.engine.batches] == [8, 4, 4, 1]


def test_without_a_free_slot_a_request_waits(make_rig: Any) -> None:
    rig = make_rig(num_slots=1, overlap=False)
    rig.send(0, 3, max_tokens=2)
    rig.send(1, 3, max_tokens=1)
    rig.finish()
    assert rig.engine.steps == [("prefill", [0]), ("decode", [0]), ("prefill", [1])]


def test_abort_req_takes_one_and_keeps_the_order_of_the_others(make_rig: Any) -> None:
    rig = make_rig()
    for uid in (4, 2, 9):
        rig.send(uid, 3)
    for msg in rig.scheduler.receive_msg(blocking=False):
        rig.scheduler._process_one_msg(msg)
    manager = rig.scheduler.prefill_manager
    assert manager.abort_req(2).uid == 2
    assert manager.abort_req(2) is None
    assert list(manager.waiting) == [4, 9]
