"""Aborts at every phase: one terminal reply, nothing behind it, everything given back."""

from typing import Any

import pytest

from minisgl_tutor.engine.hashing import HashingEngine
from minisgl_tutor.message import DetokenizeMsg, Usage
from minisgl_tutor.scheduler.req import Req

EOS = 2
both_loops = pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])


def aborted(uid: int, prompt: int, output: int, cached: int = 0) -> DetokenizeMsg:
    return DetokenizeMsg(uid, finished=True, finish_reason="abort", usage=Usage(prompt, output, cached))


@both_loops
def test_while_waiting(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap, num_slots=1)
    rig.send(0, 3, max_tokens=6)
    rig.send(1, 3, max_tokens=6)
    rig.send(2, 3, max_tokens=1)
    rig.round()
    rig.abort(1)
    assert aborted(1, 3, 0) in rig.round()
    rig.finish()
    assert [uids for phase, uids in rig.engine.steps if phase == "prefill"] == [[0], [2]]
    rig.assert_all_free()


@both_loops
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_between_chunks(make_rig: Any, tokens_of: Any, overlap: bool, rounds: int) -> None:
    rig = make_rig(overlap=overlap, prefill_budget=4)
    rig.send(0, 16, max_tokens=6)
    rig.round(rounds)
    rig.abort(0)
    assert rig.round() == [aborted(0, 16, 0)]
    assert len(rig.engine.batches) == rounds
    assert rig.finish() == []
    rig.assert_all_free()


@both_loops
def test_with_the_last_prefill_launched(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap)
    rig.send(0, 5, max_tokens=6)
    replies = rig.round()
    rig.abort(0)
    replies += rig.round()
    seen = 0 if overlap else 1
    assert [msg.next_token for msg in replies] == [*[10] * seen, None]
    assert replies[-1] == aborted(0, 5, seen)
    assert rig.finish() == []
    rig.assert_all_free()


@both_loops
def test_in_decode(make_rig: Any, tokens_of: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap)
    rig.send(0, 5, max_tokens=9)
    rig.send(1, 5, max_tokens=9)
    replies = rig.round(4)
    rig.abort(0)
    last = rig.round()
    assert tokens_of(last, 0) == []
    assert aborted(0, 5, len(tokens_of(replies, 0))) in last
    assert tokens_of(replies + last + rig.finish(), 1) == list(range(10, 19))
    rig.assert_all_free()


def test_with_a_decode_in_flight_that_yields_eos(make_rig: Any) -> None:
    rig = make_rig(overlap=True, script={0: [9, EOS, 9]})
    rig.send(0, 5, max_tokens=9)
    rig.round(2)
    rig.abort(0)
    assert rig.round() == [aborted(0, 5, 1)]
    assert rig.finish() == []
    rig.assert_all_free()


def test_with_the_last_token_in_flight(make_rig: Any) -> None:
    rig = make_rig(overlap=True)
    rig.send(0, 5, max_tokens=2)
    rig.round(2)
    rig.abort(0)
    assert rig.round() == [aborted(0, 5, 1)]
    assert not rig.scheduler.busy
    rig.assert_all_free()


def test_while_it_drains_after_eos(make_rig: Any, ends_of: Any) -> None:
    rig = make_rig(overlap=True, script={0: [EOS]})
    rig.send(0, 5, max_tokens=9)
    assert ends_of(rig.round(2), 0) == ["stop"]
    rig.abort(0)
    assert rig.finish() == []
    rig.assert_all_free()


@both_loops
def test_unknown_ended_and_repeated(make_rig: Any, ends_of: Any, tokens_of: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap)
    rig.abort(77)
    rig.send(0, 5, max_tokens=2)
    rig.send(1, 5, max_tokens=20)
    rig.send(2, 5, max_tokens=4)
    replies = rig.round(6)
    rig.abort(0)
    rig.abort(1)
    rig.abort(1)
    replies += rig.finish()
    rig.abort(1)
    replies += rig.finish()
    assert [ends_of(replies, uid) for uid in (0, 1, 2, 77)] == [["length"], ["abort"], ["length"], []]
    assert tokens_of(replies, 2) == [10, 11, 12, 13]
    rig.assert_all_free()


@both_loops
def test_in_one_batch_with_its_request(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(overlap=overlap)
    rig.send(0, 5)
    rig.abort(0)
    assert rig.finish() == [aborted(0, 5, 0)]
    assert rig.engine.batches == []


@both_loops
def test_the_same_prompt_again_gets_the_right_answer(make_rig: Any, overlap: bool, tokens_of: Any) -> None:
    """What an aborted prefill left in the cache is only what it had computed."""
    rig = make_rig(engine=lambda info: HashingEngine(info, lag=True), overlap=overlap, prefill_budget=6)
    prompt = [5 + index for index in range(16)]
    rig.send(0, prompt, max_tokens=4)
    rig.round(2)
    rig.abort(0)
    rig.finish()
    rig.send(1, prompt, max_tokens=4, ignore_eos=True)
    replies = rig.finish()
    assert replies[-1].usage.cached_tokens in (4, 8, 12)
    assert tokens_of(replies, 1) == rig.engine.expected_tokens(prompt, 4)


class AbortLog:
    def __init__(self, name: str, log: list[str], found: Req | None) -> None:
        self._name, self._log, self._found = name, log, found

    def abort_req(self, uid: int) -> Req | None:
        self._log.append(self._name)
        return self._found


@pytest.mark.parametrize(
    ("in_prefill", "in_decode", "asked"),
    [(True, False, ["prefill"]), (False, True, ["prefill", "decode"]), (False, False, ["prefill", "decode"])],
)
def test_c5_144_c5_145_prefill_is_asked_first_and_only_a_found_one_is_freed(
    make_rig: Any, in_prefill: bool, in_decode: bool, asked: list[str]
) -> None:
    rig = make_rig()
    rig.send(4, 3)
    for msg in rig.scheduler.receive_msg(blocking=False):
        rig.scheduler._process_one_msg(msg)
    req = rig.scheduler.prefill_manager.abort_req(4)
    log: list[str] = []
    freed: list[Req] = []
    rig.scheduler.prefill_manager = AbortLog("prefill", log, req if in_prefill else None)
    rig.scheduler.decode_manager = AbortLog("decode", log, req if in_decode else None)
    rig.scheduler._free_req_resources = freed.append
    rig.abort(4)
    for msg in rig.scheduler.receive_msg(blocking=False):
        rig.scheduler._process_one_msg(msg)
    assert log == asked
    assert freed == ([req] if in_prefill or in_decode else [])
