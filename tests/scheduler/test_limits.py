"""What the scheduler refuses, what it cuts, and that no message ends it."""

from typing import Any

import pytest

from minisgl_tutor.engine.base import EngineInfo
from minisgl_tutor.message import ErrorReply
from minisgl_tutor.scheduler.validate import length_limit

both_loops = pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])


@pytest.mark.parametrize(
    ("prompt", "params", "code", "param"),
    [
        ([], {}, "empty_prompt", None),
        ([5] * 32, {}, "context_length_exceeded", None),
        ([5] * 5000, {}, "context_length_exceeded", None),
        ([5, -1], {}, "invalid_token_id", None),
        ([5, 100], {}, "invalid_token_id", None),
        ([5, 2**63], {}, "invalid_token_id", None),
        ([5], {"max_tokens": 0}, "invalid_value", "max_tokens"),
        ([5], {"max_tokens": -1}, "invalid_value", "max_tokens"),
        ([5], {"temperature": float("nan")}, "invalid_value", "temperature"),
        ([5], {"temperature": float("inf")}, "invalid_value", "temperature"),
        ([5], {"temperature": -0.1}, "invalid_value", "temperature"),
        ([5], {"top_p": 0.0}, "invalid_value", "top_p"),
        ([5], {"top_p": 1.01}, "invalid_value", "top_p"),
        ([5], {"top_p": float("nan")}, "invalid_value", "top_p"),
        ([5], {"min_p": -0.1}, "invalid_value", "min_p"),
        ([5], {"min_p": 1.1}, "invalid_value", "min_p"),
        ([5], {"min_p": float("nan")}, "invalid_value", "min_p"),
        ([5], {"presence_penalty": 2.1}, "invalid_value", "presence_penalty"),
        ([5], {"presence_penalty": float("nan")}, "invalid_value", "presence_penalty"),
        ([5], {"frequency_penalty": -2.1}, "invalid_value", "frequency_penalty"),
        ([5], {"frequency_penalty": float("inf")}, "invalid_value", "frequency_penalty"),
        ([5], {"logprobs": -1}, "invalid_value", "logprobs"),
        ([5], {"logprobs": 21}, "invalid_value", "logprobs"),
        ([5], {"logit_bias": {5: 100.5}}, "invalid_value", "logit_bias"),
        ([5], {"logit_bias": {5: float("nan")}}, "invalid_value", "logit_bias"),
        ([5], {"logit_bias": {100: 1.0}}, "invalid_token_id", "logit_bias"),
        ([5], {"logit_bias": {-1: 1.0}}, "invalid_token_id", "logit_bias"),
    ],
)
def test_a_wrong_request_is_refused_at_once_and_the_next_is_served(
    make_rig: Any, ends_of: Any, prompt: list[int], params: dict[str, Any], code: str, param: str | None
) -> None:
    rig = make_rig(max_seq_len=32)
    rig.send(0, prompt, **params)
    rig.send(1, 3, max_tokens=1)
    (refusal, *_) = replies = rig.round(2)
    assert isinstance(refusal, ErrorReply)
    assert (refusal.uid, refusal.status, refusal.code, refusal.param) == (0, 400, code, param)
    assert ends_of(replies, 0) == [code]
    assert ends_of(replies, 1) == ["length"]
    rig.assert_all_free()


def test_c5_163_a_prompt_that_reaches_the_limit_is_told_both_numbers(make_rig: Any) -> None:
    rig = make_rig(max_seq_len=8)
    rig.send(0, 8)
    (refusal,) = rig.round()
    assert "8 tokens" in refusal.message
    assert "context length" in refusal.message
    assert rig.scheduler.prefill_manager.waiting == {}


def test_every_token_id_of_the_vocabulary_is_served(make_rig: Any, ends_of: Any) -> None:
    rig = make_rig(vocab_size=100)
    rig.send(0, [0, 99])
    rig.send(1, [100])
    replies = rig.finish()
    assert ends_of(replies, 0) == ["length"]
    assert "(0 to 99)" in replies[0].message


@both_loops
@pytest.mark.parametrize(
    ("prompt", "max_tokens", "generated"), [(31, 1, 1), (31, 10**12, 1), (30, 4, 2), (1, 2**63 - 1, 31)]
)
def test_max_tokens_is_cut_to_what_fits(
    make_rig: Any, tokens_of: Any, ends_of: Any, overlap: bool, prompt: int, max_tokens: int, generated: int
) -> None:
    rig = make_rig(max_seq_len=32, overlap=overlap)
    rig.send(0, prompt, max_tokens=max_tokens)
    replies = rig.finish()
    assert len(tokens_of(replies, 0)) == generated
    assert ends_of(replies, 0) == ["length"]
    rig.assert_all_free()


def test_the_whole_kv_pool_is_a_limit_like_the_context_length(make_rig: Any, ends_of: Any) -> None:
    rig = make_rig(max_seq_len=256, num_pages=16, page_size=4)
    assert length_limit(EngineInfo(4, 16, 4, 256, 100)) == 64
    rig.send(0, 100)
    rig.send(1, 4, max_tokens=4)
    rig.send(2, 60, max_tokens=60)
    rig.send(3, 63, max_tokens=1)
    replies = rig.finish()
    assert "KV cache" in replies[0].message
    assert [ends_of(replies, uid) for uid in range(4)] == [
        ["context_length_exceeded"],
        ["length"],
        ["length"],
        ["length"],
    ]
    assert [msg.usage.completion_tokens for msg in replies if msg.uid == 2 and msg.finished] == [4]
    rig.assert_all_free()


def test_a_neighbour_too_large_to_run_beside_leaves_the_others_their_answer(
    make_rig: Any, tokens_of: Any
) -> None:
    rig = make_rig(num_pages=6, page_size=4)
    rig.send(0, 8, max_tokens=8)
    rig.send(1, 8, max_tokens=30)
    replies = rig.finish()
    assert len(tokens_of(replies, 0)) == 8
    assert len(tokens_of(replies, 1)) == 16
    rig.assert_all_free()


def test_odd_but_valid_numbers_are_served(make_rig: Any, ends_of: Any) -> None:
    rig = make_rig()
    rig.send(0, 3, temperature=1e-300, top_k=2**62, top_p=1e-300, seed=-(2**62))
    rig.send(2**62, 3, temperature=1e6, seed=2**63)
    replies = rig.finish()
    assert ends_of(replies, 0) == ends_of(replies, 2**62) == ["length"]
