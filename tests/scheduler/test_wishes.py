"""Penalties, biases and logprobs follow their request through batches, chunks, retraction and overlap."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from minisgl_tutor.engine.base import EngineInfo, ForwardBatch, LogprobRows, Logprobs
from minisgl_tutor.engine.hashing import RARER, HashingEngine, HashingStep
from minisgl_tutor.message import SamplingParams, ScoredToken, TokenLogprobs
from minisgl_tutor.scheduler.req import Req
from minisgl_tutor.scheduler.wishes import has_wishes, logprobs_by_row

both_loops = pytest.mark.parametrize("overlap", [False, True], ids=["normal", "overlap"])
KINDS: list[dict[str, Any]] = [
    {},
    {"presence_penalty": 0.5},
    {"frequency_penalty": -1.25, "logit_bias": {3: 2.0, 19: -100.0}},
    {"logprobs": 2, "frequency_penalty": 0.5},
    {"logprobs": 0, "logit_bias": {0: 0.25}},
    {"logprobs": 20},
]


class LaggingEngine(HashingEngine):
    """Keeps what it was asked."""

    def __init__(self, info: EngineInfo) -> None:
        super().__init__(info, lag=True)
        self.batches: list[ForwardBatch] = []

    def forward_batch(self, batch: ForwardBatch) -> HashingStep:
        self.batches.append(batch)
        return super().forward_batch(batch)


def tokens_told(engine: LaggingEngine) -> int:
    """How many tokens from before a retraction the engine was told of."""
    penalties = [batch.sampling.penalties for batch in engine.batches]
    return sum(len(own.known_tokens) for own in penalties if own is not None)


@both_loops
@pytest.mark.parametrize("cache", ["radix", "naive"])
def test_answers_are_those_of_each_request_alone(
    make_rig: Any, tokens_of: Any, overlap: bool, cache: str
) -> None:
    """In a pool so small that requests are retracted again and again."""
    told = 0
    for seed in range(4):
        draws = random.Random(seed)
        rig = make_rig(
            engine=LaggingEngine,
            page_size=draws.choice([1, 4]),
            num_pages=40,
            max_seq_len=40,
            vocab_size=20,
            overlap=overlap,
            cache=cache,
            admission="optimistic",
            head_room=1,
            prefill_budget=draws.choice([3, 2048]),
        )
        stem = [draws.randrange(20) for _ in range(12)]
        sent: dict[int, tuple[list[int], dict[str, Any]]] = {}
        replies = []
        for uid in range(10):
            prompt = stem[: draws.randrange(12)] + [draws.randrange(20) for _ in range(draws.randint(1, 4))]
            sent[uid] = prompt, draws.choice(KINDS)
            rig.send(uid, prompt, max_tokens=20, ignore_eos=True, **sent[uid][1])
            replies += rig.round(draws.choice([0, 1, 2]))
        replies += rig.finish()
        for uid, (prompt, params) in sent.items():
            penalties = params.get("presence_penalty", 0.0), params.get("frequency_penalty", 0.0)
            biases = params.get("logit_bias")
            right = rig.engine.expected_tokens(prompt, 20, penalties=penalties, biases=biases)
            assert tokens_of(replies, uid) == right, params
            unchanged = [
                rig.engine.expected_tokens(prompt + right[:index], 1)[0] for index in range(len(right))
            ]
            expected = [
                logprobs(*pair, params.get("logprobs")) for pair in zip(right, unchanged, strict=True)
            ]
            assert [msg.logprobs for msg in replies if msg.uid == uid] == expected
        rig.assert_all_free()
        told += tokens_told(rig.engine)
    assert told > 0


def logprobs(token: int, likeliest: int, count: int | None) -> TokenLogprobs | None:
    """What the engine says of a token, in a vocabulary of 20."""
    if count is None:
        return None
    top = tuple(ScoredToken((likeliest + rank) % 20, -RARER * (1 + rank)) for rank in range(count))
    return TokenLogprobs(ScoredToken(token, -RARER * (1 + (token - likeliest) % 20)), top)


@both_loops
def test_nothing_is_put_together_for_steps_in_which_nobody_asks(make_rig: Any, overlap: bool) -> None:
    rig = make_rig(engine=LaggingEngine, overlap=overlap)
    rig.send(0, 3, max_tokens=2, presence_penalty=1.0, logprobs=1, min_p=0.5, logit_bias={1: 1.0})
    rig.send(1, 3, max_tokens=9)
    rig.finish()
    asked = [batch.sampling for batch in rig.engine.batches if 0 in batch.uids]
    for sampling in asked:
        assert sampling.penalties is not None and sampling.biases is not None
        assert sampling.logprobs is not None and sampling.min_ps is not None
        row = sampling.penalties.rows.tolist()
        assert row == sampling.biases.rows.tolist() == sampling.logprobs.rows.tolist()
        assert sampling.min_ps.nonzero()[0].tolist() == row
    others = [batch.sampling for batch in rig.engine.batches if 0 not in batch.uids]
    assert asked and others
    for sampling in others:
        found = (sampling.min_ps, sampling.penalties, sampling.biases, sampling.logprobs)
        assert found == (None, None, None, None)
    assert rig.scheduler.table_manager.slots_with_wishes == set()


def test_a_chunk_in_the_middle_of_a_prompt_asks_for_nothing(make_rig: Any) -> None:
    rig = make_rig(engine=LaggingEngine, prefill_budget=4)
    rig.send(0, 10, max_tokens=1, logprobs=1, presence_penalty=1.0)
    rig.finish()
    wanted = [batch.sampling.logprobs is not None for batch in rig.engine.batches]
    assert wanted == [batch.emits.any() for batch in rig.engine.batches] == [False, False, True]


@pytest.mark.parametrize(
    ("params", "wishes"),
    [
        ({}, False),
        ({"temperature": 1.0, "top_k": 3, "top_p": 0.5, "seed": 1, "stop": ("a",)}, False),
        ({"min_p": 0.1}, True),
        ({"presence_penalty": -1.0}, True),
        ({"frequency_penalty": 1.0}, True),
        ({"logit_bias": {1: 0.0}}, True),
        ({"logprobs": 0}, True),
    ],
)
def test_who_asks(params: dict[str, Any], wishes: bool) -> None:
    assert has_wishes(SamplingParams(**params)) is wishes


def test_each_row_gets_as_many_of_the_likeliest_as_it_asked_for() -> None:
    reqs = [
        Req.of_prompt(uid, [1], 1, SamplingParams(logprobs=count), 0)
        for uid, count in enumerate([None, 0, 3, 2])
    ]
    found = Logprobs(
        np.array([-1, -2, -3], np.float32),
        np.array([[5, 6, 7]] * 3),
        np.array([[-0.5, -1.5, -2.5]] * 3, np.float32),
    )
    by_row = logprobs_by_row(found, LogprobRows(np.array([1, 2, 3]), 3), reqs, [9, 8, 7, 6])
    top = (ScoredToken(5, -0.5), ScoredToken(6, -1.5), ScoredToken(7, -2.5))
    assert by_row == {
        1: TokenLogprobs(ScoredToken(8, -1.0), ()),
        2: TokenLogprobs(ScoredToken(7, -2.0), top),
        3: TokenLogprobs(ScoredToken(6, -3.0), top[:2]),
    }
