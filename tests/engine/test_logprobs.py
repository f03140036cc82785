"""Logprobs are the log-softmax of the scores as they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl_tutor.engine.base import LogprobRows, Logprobs

torch = pytest.importorskip("torch")

from minisgl_tutor.engine.logprobs import find_logprobs  # noqa: E402


def logprobs(
    scores: np.ndarray,
    tokens: list[int],
    rows: list[int],
    wanted: list[int],
    top: int,
    dtype: str = "float32",
) -> Logprobs:
    logits = torch.from_numpy(scores).to(getattr(torch, dtype))
    asked = LogprobRows(np.array(wanted), top)
    return find_logprobs(logits, torch.tensor(tokens), asked, np.array(rows)).arrived()


@given(st.integers(0, 2**32 - 1), st.integers(0, 20), st.sampled_from(["float32", "bfloat16"]))
@settings(max_examples=40, deadline=None)
def test_they_are_those_of_numpy(seed: int, top: int, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(9, 6, replace=False))
    wanted = np.sort(rng.choice(rows, rng.integers(1, 7), replace=False))
    scores = torch.from_numpy(rng.normal(0, 10, (6, 30))).to(getattr(torch, dtype)).double().numpy()
    tokens = rng.integers(0, 30, 6)
    found = logprobs(scores, tokens.tolist(), rows.tolist(), wanted.tolist(), top, dtype)
    right = scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))
    for i, row in enumerate(wanted):
        place = list(rows).index(row)
        assert found.chosen[i] == pytest.approx(right[place, tokens[place]], abs=1e-4)
        np.testing.assert_allclose(found.top_logprobs[i], np.sort(right[place])[::-1][:top], atol=1e-4)
        np.testing.assert_allclose(right[place, found.top_tokens[i]], found.top_logprobs[i], atol=1e-4)
        assert len(set(found.top_tokens[i].tolist())) == top


def test_a_small_vocabulary_has_no_more_than_it_has() -> None:
    found = logprobs(np.zeros((1, 3)), [1], [0], [0], top=20)
    assert sorted(found.top_tokens[0].tolist()) == [0, 1, 2]
    np.testing.assert_allclose(found.top_logprobs, np.log(1 / 3), rtol=1e-6)


INF, NAN = np.inf, np.nan


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([0.0, -INF, 0.0], [np.log(0.5), -9999, np.log(0.5)]),
        ([NAN, 0.0, 0.0], [-9999, np.log(0.5), np.log(0.5)]),
        ([NAN, NAN, NAN], [-9999, -9999, -9999]),
        ([-INF, -INF, -INF], [-9999, -9999, -9999]),
        ([INF, 0.0, 0.0], [0, -9999, -9999]),
        ([0.0, -20000.0, -30000.0], [0, -9999, -9999]),
    ],
)
def test_every_logprob_is_a_number(scores: list[float], expected: list[float]) -> None:
    """As JSON has no other."""
    found = [logprobs(np.array([scores]), [token], [0], [0], top=3) for token in range(3)]
    np.testing.assert_allclose([float(own.chosen[0]) for own in found], expected, atol=1e-5)
    np.testing.assert_allclose(found[0].top_logprobs[0], sorted(expected)[::-1], atol=1e-5)
