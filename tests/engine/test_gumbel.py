"""The GPU's sampler. Runs on a GPU, or anywhere with TRITON_INTERPRET=1."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs a GPU or Triton's interpreter", allow_module_level=True)

from minisgl_tutor.engine.base import Biases, SamplingBatch  # noqa: E402
from minisgl_tutor.engine.gumbel import GumbelSampler, other_rows  # noqa: E402

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def values(rows: int, temperature: Any, **others: Any) -> SamplingBatch:
    given = {
        "temperatures": np.full(rows, temperature, np.float32),
        "top_ks": np.full(rows, -1, np.int32),
        "top_ps": np.ones(rows, np.float32),
        "seeds": np.random.default_rng(0).integers(0, 2**64, rows, dtype=np.uint64),
        "positions": np.arange(rows, dtype=np.int64) % 5,
    }
    return SamplingBatch(**(given | others))


def sample(scores: Any, batch: SamplingBatch, rows: Any = None) -> list[int]:
    sampler = GumbelSampler(scores.shape[1], DEVICE)
    chosen = np.arange(len(scores)) if rows is None else np.array(rows)
    tokens = sampler.sample(scores[torch.from_numpy(chosen)].to(DEVICE), sampler.prepare(batch, chosen))
    return [int(token) for token in tokens]


def test_frequencies_follow_the_softmax() -> None:
    probs = torch.tensor([0.5, 0.3, 0.2, 0.0])
    tokens = sample((probs.log() * 0.7).repeat(400, 1), values(400, 0.7))
    found = torch.bincount(torch.tensor(tokens), minlength=4) / 400
    torch.testing.assert_close(found, probs, atol=0.08, rtol=0)
    assert 3 not in tokens


def test_a_draw_depends_on_seed_and_position_alone() -> None:
    torch.manual_seed(0)
    scores, batch = torch.randn(1, 300).repeat(6, 1), values(6, 1.0)
    together = sample(scores, batch)
    assert len(set(together)) > 1
    assert sample(scores, batch, [4]) == [together[4]]
    assert sample(scores, batch, [5, 2]) == [together[5], together[2]]


def test_greedy_rows_take_the_first_of_the_highest() -> None:
    torch.manual_seed(0)
    scores = torch.randn(5, 9000)
    scores[1, 3] = float("nan")
    scores[2] = float("nan")
    scores[3, 8000] = scores[3, 100] = 50.0
    expected = scores.nan_to_num(nan=-1e9).argmax(-1).tolist()
    assert expected[2:4] == [0, 100]
    assert sample(scores, values(5, 0.0)) == expected
    assert sample(scores, values(5, 0.9, top_ks=np.ones(5, np.int32))) == expected


def test_top_k_and_top_p_of_some_rows() -> None:
    probs = torch.tensor([0.4, 0.3, 0.2, 0.06, 0.04])
    rows = np.arange(120)
    batch = values(
        120,
        1.0,
        top_ks=np.where(rows % 3 == 0, 2, -1).astype(np.int32),
        top_ps=np.where(rows % 3 == 1, 0.85, 1).astype(np.float32),
    )
    tokens = np.array(sample(probs.log().repeat(120, 1), batch))
    assert set(tokens[0::3]) == {0, 1}
    assert set(tokens[1::3]) == {0, 1, 2}
    assert max(tokens[2::3]) > 2


def test_min_p_of_some_rows() -> None:
    probs = torch.tensor([0.4, 0.3, 0.2, 0.06, 0.04])
    batch = values(120, 1.0, min_ps=np.where(np.arange(120) % 2 == 0, 0.6, 0).astype(np.float32))
    tokens = np.array(sample(probs.log().repeat(120, 1), batch))
    assert set(tokens[0::2]) == {0, 1}
    assert max(tokens[1::2]) > 1
    greedy = values(120, 0.0, min_ps=batch.min_ps)
    assert set(sample(probs.log().repeat(120, 1), greedy)) == {0}


def test_scores_in_float32_are_drawn_as_they_are() -> None:
    """As penalties leave them: in bfloat16 these would be equal, and the first would be taken."""
    assert sample(torch.tensor([[99.99, 100.0]]), values(1, 0.0)) == [1]


def test_which_rows_a_graph_cannot_draw() -> None:
    batch = values(6, 1.0)
    assert other_rows(batch, 300).tolist() == []
    bent = Biases(np.array([1, 1, 4]), np.array([2, 3, 0]), np.ones(3, np.float32))
    batch = values(
        6,
        np.array([1, 1, 1, 0, 0, 1]),
        top_ks=np.array([7, -1, -1, 7, -1, 300], np.int32),
        min_ps=np.array([0, 0, 0.1, 0.1, 0, 0], np.float32),
        biases=bent,
    )
    assert other_rows(batch, 300).tolist() == [0, 1, 2, 4]
