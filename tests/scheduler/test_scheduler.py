"""Who is computed when, and how requests end, by the claims about them."""

import ast
import inspect
import textwrap
from typing import Any

import pytest

from minisgl_tutor.message import BatchTokenizerMsg, DetokenizeMsg, ErrorReply, StopStringsMsg, Usage
from minisgl_tutor.scheduler.scheduler import Scheduler

EOS = 2
both_loops = pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])


@both_loops
@pytest.mark.parametrize("limit", [1, 2, 3, 8])
def test_c2_67_c2_70_as_many_steps_and_tokens_as_max_tokens(
    make_rig: Any, tokens_of: Any, ends_of: Any, overlap: bool, limit: int
) -> None:
    rig = make_rig(overlap=overlap)
    rig.send(0, 3, max_tokens=limit)
    replies = rig.finish()
    assert tokens_of(replies, 0) == [10 + index for index in range(limit)]
    assert [msg.finished for msg in replies] == [False] * (limit - 1) + [True]
    assert ends_of(replies, 0) == ["length"]
    assert len(rig.engine.batches) == limit
    rig.assert_all_free()


@both_loops
def test_c2_71_eos_ends_a_request_unless_ignored(
    make_rig: Any, tokens_of: Any, ends_of: Any, overlap: bool
) -> None:
    rig = make_rig(overlap=overlap, script={0: [9, EOS, 9, 9], 1: [9, EOS, 9, 9]})
    rig.send(0, 3, max_tokens=4)
    rig.send(1, 3, max_tokens=4, ignore_eos=True)
    replies = rig.finish()
    assert (tokens_of(replies, 0), ends_of(replies, 0)) == ([9, EOS], ["stop"])
    assert (tokens_of(replies, 1), ends_of(replies, 1)) == ([9, EOS, 9, 9], ["length"])
    rig.assert_all_free()


@both_loops
def test_c2_72_eos_at_the_limit_finishes_once(make_rig: Any, ends_of: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap, script={0: [9, EOS]})
    rig.send(0, 3, max_tokens=2)
    replies = rig.finish()
    assert len(replies) == 2
    assert ends_of(replies, 0) == ["stop"]


@both_loops
def test_stop_strings_go_ahead_of_the_first_token_and_once(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap, num_slots=2, script={1: [EOS]})
    rig.send(0, 3, stop=("\n", "?"))
    rig.send(1, 5, stop=(".",))
    rig.send(2, 4)
    replies = rig.finish()
    assert [msg for msg in replies if isinstance(msg, StopStringsMsg)] == [
        StopStringsMsg(0, ("\n", "?"), Usage(3, 0, 0)),
        StopStringsMsg(1, (".",), Usage(5, 0, 0)),
    ]
    for uid in (0, 1):
        assert [isinstance(msg, StopStringsMsg) for msg in replies if msg.uid == uid][:2] == [True, False]


@both_loops
def test_eos_ids_are_a_set(make_rig: Any, ends_of: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap, script={0: [9, 8, 8], 1: [9, 7, 8]})
    rig.scheduler.eos_token_ids = frozenset({7, 8})
    rig.send(0, 3, max_tokens=3)
    rig.send(1, 3, max_tokens=3)
    replies = rig.finish()
    assert ends_of(replies, 0) == ends_of(replies, 1) == ["stop"]
    assert len(replies) == 4


def test_c2_74_the_replies_of_a_round_leave_in_one_message(make_rig: Any) -> None:
    rig = make_rig(overlap=False)
    sent: list[Any] = []
    rig.scheduler._send_detokenizer.put = sent.append
    rig.send(0, 3, max_tokens=2)
    rig.send(1, 3, max_tokens=1)
    rig.send(2, 0)
    rig.round()
    rig.round()
    assert isinstance(sent[0], BatchTokenizerMsg)
    assert [(type(msg), msg.uid) for msg in sent[0].data] == [
        (ErrorReply, 2),
        (DetokenizeMsg, 0),
        (DetokenizeMsg, 1),
    ]
    assert sent[1:] == [DetokenizeMsg(0, 11, True, "length", Usage(3, 2, 0))]


def test_c2_75_unfinished_requests_go_on(make_rig: Any) -> None:
    rig = make_rig(overlap=False)
    rig.send(0, 3, max_tokens=1)
    rig.send(1, 3, max_tokens=3)
    rig.round()
    assert list(rig.scheduler.decode_manager.running) == [1]
    assert rig.scheduler.held() == {1: {"running": 1, "slot": 1, "pages": 1}}


def test_c5_115_the_end_is_decided_in_process_last_data() -> None:
    tree = ast.parse(textwrap.dedent(inspect.getsource(Scheduler._process_last_data)))
    called = {
        node.func.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
    assert "_finish_reason" in called


def test_c5_118_a_prefix_outlives_its_request(make_rig: Any) -> None:
    rig = make_rig(cache="radix")
    rig.send(0, [5] * 9)
    rig.finish()
    rig.send(1, [5] * 9)
    replies = rig.finish()
    assert replies[-1].usage == Usage(9, 3, 8)
    assert rig.engine.batches[-3].input_ids.tolist() == [5]
    rig.assert_all_free()


def test_a_prompt_is_shared_as_soon_as_it_is_computed(make_rig: Any) -> None:
    rig = make_rig(overlap=False)
    rig.send(0, [5] * 9, max_tokens=20)
    rig.round()
    rig.send(1, [5] * 9, max_tokens=20)
    rig.round()
    assert [batch.cached_lens.tolist() for batch in rig.engine.batches] == [[0], [8]]
    rig.round(12)
    # What is generated is shared at the end.
    assert rig.scheduler.cache_manager.prefix_cache.match(rig.scheduler.requests[0].token_ids).pages[2:] == []


def test_the_naive_cache_keeps_nothing(make_rig: Any) -> None:
    rig = make_rig(cache="naive")
    for uid in (0, 1):
        rig.send(uid, [5] * 9)
        assert rig.finish()[-1].usage == Usage(9, 3, 0)
    assert len(rig.scheduler.cache_manager.free_pages) == 32


class StubManager:
    lacks_pages = False

    def __init__(self, batch: Any) -> None:
        self.batch = batch
        self.calls: list[tuple[Any, ...]] = []

    def schedule_next_batch(self, *args: Any) -> Any:
        self.calls.append(args)
        return self.batch


def test_c2_78_prefill_is_asked_first_with_the_budget(make_rig: Any) -> None:
    rig = make_rig(prefill_budget=77)
    rig.scheduler.prefill_manager, rig.scheduler.decode_manager = StubManager(None), StubManager(None)
    assert rig.scheduler._schedule_next_batch() is None
    assert rig.scheduler.prefill_manager.calls == [(77,)]
    assert rig.scheduler.decode_manager.calls == [()]


def test_c2_79_decode_is_asked_only_without_a_prefill(make_rig: Any) -> None:
    rig = make_rig()
    rig.send(0, 3)
    decode = rig.scheduler.decode_manager
    rig.scheduler.decode_manager = StubManager(None)
    for msg in rig.scheduler.receive_msg(blocking=False):
        rig.scheduler._process_one_msg(msg)
    forward_input = rig.scheduler._schedule_next_batch()
    assert rig.scheduler.decode_manager.calls == []
    rig.scheduler.decode_manager = decode
    rig.scheduler._forward(forward_input)
    # C2.86, C2.88: the engine was called once, with that very batch.
    assert [batch is forward_input.batch for batch in rig.engine.batches] == [True]


@both_loops
def test_c2_80_c2_81_prefill_first_then_a_token_each(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap)
    rig.send(0, 3, max_tokens=4)
    rig.round(2)
    rig.send(1, 5, max_tokens=2)
    rig.finish()
    assert rig.engine.steps == [
        ("prefill", [0]),
        ("decode", [0]),
        ("prefill", [1]),
        ("decode", [0, 1]),
        ("decode", [0]),
    ]
    assert [len(batch.input_ids) for batch in rig.engine.batches] == [3, 0, 5, 0, 0]


def test_c2_82_c2_85_without_room_the_running_ones_go_on(make_rig: Any) -> None:
    rig = make_rig(num_pages=4, overlap=False, cache="naive")
    rig.send(0, 8, max_tokens=3)
    rig.send(1, 8, max_tokens=2)
    rig.finish()
    assert rig.engine.steps == [
        ("prefill", [0]),
        ("decode", [0]),
        ("decode", [0]),
        ("prefill", [1]),
        ("decode", [1]),
    ]


@both_loops
def test_a_token_after_eos_is_dropped(make_rig: Any, tokens_of: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap, script={0: [EOS, 9, 9]})
    rig.send(0, 3, max_tokens=5)
    rig.send(1, 3, max_tokens=5)
    replies = rig.finish()
    assert tokens_of(replies, 0) == [EOS]
    assert tokens_of(replies, 1) == [10, 11, 12, 13, 14]
    rig.assert_all_free()


def test_what_a_step_in_flight_uses_is_freed_when_it_has_run(make_rig: Any) -> None:
    rig = make_rig(overlap=True, script={0: [EOS]})
    rig.send(0, 3, max_tokens=5)
    assert rig.round(2)[-1].finish_reason == "stop"
    assert rig.scheduler.held() == {0: {"draining": 1, "slot": 1, "pages": 1}}
    assert len(rig.scheduler.table_manager.free_slots) == 3
    rig.round()
    rig.assert_all_free()


def test_the_seed_of_a_request_is_kept_and_a_missing_one_chosen_by_the_config(make_rig: Any) -> None:
    def seeds(config_seed: int) -> list[int]:
        rig = make_rig(seed=config_seed)
        rig.send(0, 3, temperature=1.0)
        rig.send(1, 3, temperature=1.0, seed=5)
        rig.send(2, 3, temperature=1.0)
        rig.round()
        chosen: list[int] = rig.engine.batches[0].sampling.seeds.tolist()
        return chosen

    first = seeds(1)
    assert first == seeds(1)
    assert first[1] == 5
    assert first[0] != first[2]
    assert first[0] != seeds(2)[0]


@both_loops
def test_the_order_of_a_batch_is_the_order_of_arrival(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap, num_slots=8)
    uids = [5, 3, 9, 1, 7]
    for uid in uids:
        rig.send(uid, 3, max_tokens=3)
    rig.round(2)
    assert rig.engine.steps[:2] == [("prefill", uids), ("decode", uids)]


def test_busy_and_held_follow_a_request(make_rig: Any) -> None:
    rig = make_rig(overlap=True, num_slots=1)
    assert not rig.scheduler.busy
    rig.send(0, 5, max_tokens=1)
    rig.send(1, 5, max_tokens=1)
    rig.round()
    assert rig.scheduler.busy
    assert rig.scheduler.held() == {1: {"waiting": 1}, 0: {"running": 1, "slot": 1, "pages": 2}}
    rig.finish()
    assert not rig.scheduler.busy
    rig.assert_all_free()


def test_a_second_request_of_a_living_uid_does_no_harm(
    make_rig: Any, tokens_of: Any, ends_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rig = make_rig()
    rig.send(0, 3, max_tokens=4)
    rig.round()
    rig.send(0, 7, max_tokens=9)
    replies = rig.finish()
    assert (tokens_of(replies, 0), ends_of(replies, 0)) == ([10, 11, 12, 13], ["length"])
    assert "request 0 is alive already" in caplog.text
    rig.send(0, 7, max_tokens=2)
    assert ends_of(rig.finish(), 0) == ["length"]


def test_messages_for_others_are_dropped(make_rig: Any, caplog: pytest.LogCaptureFixture) -> None:
    rig = make_rig()
    rig.scheduler._process_one_msg(DetokenizeMsg(0, 1))
    assert "no use for a DetokenizeMsg" in caplog.text
    assert rig.finish() == []


def test_a_budget_that_lets_nothing_through_is_refused(make_rig: Any) -> None:
    with pytest.raises(ValueError, match="prefill_budget is 0"):
        make_rig(prefill_budget=0)


def test_a_head_room_that_looks_nowhere_is_refused(make_rig: Any) -> None:
    with pytest.raises(ValueError, match="head_room is 0"):
        make_rig(admission="optimistic", head_room=0)
