"""Whatever the schedulers of all ranks meet with, they do the same, and give the text of a single one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from minisgl_tutor.message import AbortBackendMsg, BatchBackendMsg, Message, SamplingParams, UserMsg

Replies = dict[int, list[Any]]

SETTINGS: dict[str, dict[str, Any]] = {
    "overlap": {},
    "no overlap": {"overlap": False},
    "chunks": {"prefill_budget": 5},
    "no prefix cache": {"cache": "naive"},
    "reserved": {"admission": "reserve"},
    "retraction": {"head_room": 1},
}


def request(uid: int, length: int, max_tokens: int = 6, **sampling: Any) -> UserMsg:
    """Prompts of the same length share their beginning."""
    prompt = [(7 * i + length) % 900 + 20 for i in range(length)] + [uid % 3 + 5]
    return UserMsg(uid, prompt, SamplingParams(max_tokens=max_tokens, ignore_eos=True, **sampling))


def script() -> list[list[Message]]:
    """Requests in batches and alone, shared beginnings, seeded and other draws, rounds without messages."""
    return [
        [BatchBackendMsg([request(0, 9), request(1, 20), request(2, 9)])],
        [],
        [request(3, 20, temperature=0.9)],
        [],
        [],
        [
            request(4, 30, 20),
            request(5, 30, 20, temperature=0.7, seed=9),
            request(6, 30, 20),
            request(7, 9, 20),
        ],
        [],
        [request(8, 20), request(9, 3, 15)],
    ]


def tokens(replies: Replies) -> dict[int, list[int]]:
    return {
        uid: [msg.next_token for msg in msgs if msg.next_token is not None] for uid, msgs in replies.items()
    }


@pytest.mark.parametrize("setting", SETTINGS)
def test_two_ranks_give_the_tokens_of_one(ranks: Callable[..., Any], setting: str) -> None:
    alone, both = (ranks(size, **SETTINGS[setting]) for size in (1, 2))
    expected, found = alone.play(script()), both.play(script())
    assert tokens(found) == tokens(expected)
    assert {uid: len(text) for uid, text in tokens(found).items()}[4] == 20
    # The same batches in the same order, and as many as a single rank has (C2.11).
    first, second = both.ranks
    assert first.steps == second.steps == alone.ranks[0].steps
    if setting == "retraction":
        prefills = [uid for phase, uids in first.steps if phase == "prefill" for uid in uids]
        assert len(prefills) > len(set(prefills)), "nobody was retracted"


def test_more_ranks_than_key_and_value_heads(ranks: Callable[..., Any]) -> None:
    alone, four = ranks(1), ranks(4)
    assert tokens(four.play(script())) == tokens(alone.play(script()))


@pytest.mark.parametrize("overlap", [True, False], ids=["overlap", "no overlap"])
def test_an_abort_reaches_all_ranks_in_the_same_round(ranks: Callable[..., Any], overlap: bool) -> None:
    """Waiting, in mid prompt, in mid answer, unknown and over already: nobody holds anything after it."""
    begun = script()
    begun[1] = [AbortBackendMsg(1)]
    begun[6] = [AbortBackendMsg(5), AbortBackendMsg(77)]
    begun += [[], [AbortBackendMsg(4), AbortBackendMsg(9)], [AbortBackendMsg(0)]]
    alone = ranks(1, overlap=overlap, prefill_budget=8)
    both = ranks(2, overlap=overlap, prefill_budget=8)
    expected, found = alone.play(list(begun)), both.play(list(begun))
    assert tokens(found) == tokens(expected)
    reasons = {uid: msgs[-1].finish_reason for uid, msgs in found.items()}
    assert reasons == {uid: msgs[-1].finish_reason for uid, msgs in expected.items()}
    assert [uid for uid, reason in sorted(reasons.items()) if reason == "abort"] == [0, 1, 4, 5, 9]
    for msgs in found.values():
        assert [msg.finished for msg in msgs].count(True) == 1
    assert both.ranks[0].steps == both.ranks[1].steps
