"""Penalties and biases are OpenAI's formula, of what each row generated and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl_tutor.engine.base import Biases, ForwardBatch, Penalties, SamplingBatch, TableUpdate

torch = pytest.importorskip("torch")

from minisgl_tutor.engine.adjust import adjusted  # noqa: E402

VOCAB = 12
WIDTH = 20


def decode(
    slots: list[int], lens: list[int], penalties: Penalties | None, biases: Biases | None
) -> ForwardBatch:
    rows = len(slots)
    seq_lens = np.array(lens, np.int32)
    none = np.empty(0, np.int32)
    return ForwardBatch(
        "decode",
        slots,
        np.array(slots, np.int32),
        seq_lens - 1,
        seq_lens,
        none,
        TableUpdate(none, none, none),
        np.ones(rows, bool),
        SamplingBatch(
            np.zeros(rows, np.float32),
            np.full(rows, -1, np.int32),
            np.ones(rows, np.float32),
            np.zeros(rows, np.uint64),
            seq_lens.astype(np.int64),
            penalties=penalties,
            biases=biases,
        ),
    )


def penalize(
    rows: list[int],
    begins: list[int],
    presences: list[float],
    frequencies: list[float],
    known: Sequence[tuple[int, int, int]] = (),
) -> Penalties:
    told = np.array(known, np.int32).reshape(-1, 3)
    return Penalties(
        np.array(rows, np.int64),
        np.array(begins, np.int32),
        np.array(presences, np.float32),
        np.array(frequencies, np.float32),
        *told.T,
    )


@given(st.integers(0, 2**32 - 1), st.sampled_from(["float32", "bfloat16"]))
@settings(max_examples=60, deadline=None)
def test_scores_are_those_of_the_formula(seed: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    slots = rng.permutation(7)[:5]
    lens = rng.integers(1, WIDTH, 5)
    begins = np.array([rng.integers(0, length + 1) for length in lens])
    rows = np.sort(rng.choice(5, rng.integers(1, 6), replace=False))  # the rows whose scores these are
    own = np.sort(rng.choice(rows, rng.integers(0, len(rows) + 1), replace=False))
    presences, frequencies = rng.uniform(-2, 2, (2, len(own))).astype(np.float32)
    pairs = [(row, token) for row in rows for token in range(VOCAB) if rng.random() < 0.2]
    values = rng.uniform(-100, 100, len(pairs)).astype(np.float32)
    pool = torch.from_numpy(rng.integers(0, VOCAB, (7, WIDTH + 1)).astype(np.int32))
    logits = torch.from_numpy(rng.normal(0, 3, (len(rows), VOCAB))).to(getattr(torch, dtype))
    before = logits.clone()

    penalties = penalize(own, begins[own], presences, frequencies) if len(own) else None
    biases = Biases(*np.array(pairs, np.int64).T, values) if pairs else None
    batch = decode(slots.tolist(), lens.tolist(), penalties, biases)
    found = adjusted(logits, batch, rows, pool)

    expected = before.float().numpy().copy()
    for (row, token), value in zip(pairs, values, strict=True):
        expected[list(rows).index(row), token] += value
    for row, presence, frequency in zip(own, presences, frequencies, strict=True):
        for token in range(VOCAB):
            generated = pool[slots[row], begins[row] : lens[row]].tolist()
            count = generated.count(token)
            if count:
                expected[list(rows).index(row), token] -= presence + count * frequency
    np.testing.assert_allclose(found.float().numpy(), expected, rtol=0, atol=1e-4)
    assert torch.equal(logits, before), "the scores themselves are still needed"
    assert found is logits or found.dtype == torch.float32


def test_without_any_the_same_scores_come_back() -> None:
    logits = torch.zeros(1, VOCAB)
    assert adjusted(logits, decode([0], [3], None, None), np.arange(1), torch.zeros(1, 5)) is logits


def test_tokens_from_before_a_retraction_are_in_the_pool_from_then_on() -> None:
    pool = torch.zeros(3, WIDTH, dtype=torch.int32)
    told = penalize([0], [4], [1.0], [0.25], known=[(2, 4, 7), (2, 5, 7)])
    first = adjusted(torch.zeros(1, VOCAB), decode([2], [6], told, None), np.arange(1), pool)
    assert first[0, 7] == -1.5
    assert pool[2].tolist() == [0, 0, 0, 0, 7, 7] + [0] * (WIDTH - 6)
    pool[2, 6] = 9  # the next token was drawn
    then = penalize([0], [4], [1.0], [0.25])
    second = adjusted(torch.zeros(1, VOCAB), decode([2], [7], then, None), np.arange(1), pool)
    assert {int(i): float(second[0, i]) for i in second[0].nonzero()} == {7: -1.5, 9: -1.25}


def test_the_first_token_has_nothing_before_it() -> None:
    scores = torch.rand(1, VOCAB)
    batch = decode([1], [5], penalize([0], [5], [2.0], [2.0]), None)
    assert torch.equal(adjusted(scores, batch, np.arange(1), torch.zeros(2, 8, dtype=torch.int32)), scores)


def test_rounding_of_scores_in_16_bits_does_not_swallow_a_penalty() -> None:
    """A row is drawn from its float32 scores: 100 and 99.99 are one number in bfloat16."""
    logits = torch.tensor([[100.0, 100.0]], dtype=torch.bfloat16)
    pool: Any = torch.zeros(1, 4, dtype=torch.int32)
    scores = adjusted(logits, decode([0], [3], penalize([0], [2], [0.01], [0.0]), None), np.arange(1), pool)
    assert scores.argmax() == 1
