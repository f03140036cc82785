"""Draws follow the probabilities, and depend on scores, seed and position alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from minisgl_tutor.engine.base import SamplingBatch

torch = pytest.importorskip("torch")

from minisgl_tutor.engine.sample import FEW, Sampler, kept, uniform_draws  # noqa: E402

SCORES = [-4.0, -1.0, -2.5, 0.0, -1.5, -30.0, -0.3, -2.0]
DRAWS = 20_000


def tokens_for(
    logits: list[list[float]],
    temperatures: list[float],
    top_ks: list[int] | None = None,
    top_ps: list[float] | None = None,
    seeds: list[int] | None = None,
    positions: list[int] | None = None,
    min_ps: list[float] | None = None,
) -> list[int]:
    count = len(logits)
    batch = SamplingBatch(
        temperatures=np.array(temperatures, np.float32),
        top_ks=np.array(top_ks or [-1] * count, np.int32),
        top_ps=np.array(top_ps or [1.0] * count, np.float32),
        seeds=np.array(seeds or [0] * count, np.uint64),
        positions=np.array(positions or range(count), np.int64),
        min_ps=None if min_ps is None else np.array(min_ps, np.float32),
    )
    scores = torch.tensor(logits)
    sampler = Sampler(scores.shape[-1], scores.device)
    return list(sampler.sample(scores, sampler.prepare(batch, np.arange(count))).tolist())


def frequencies(
    temperature: float, top_k: int = -1, top_p: float = 1.0, seed: int = 3, min_p: float | None = None
) -> np.ndarray:
    columns = ([value] * DRAWS for value in (temperature, top_k, top_p, seed))
    min_ps = None if min_p is None else [min_p] * DRAWS
    tokens = tokens_for([SCORES] * DRAWS, *columns, min_ps=min_ps)
    return np.bincount(tokens, minlength=len(SCORES))


def softmax(temperature: float) -> np.ndarray:
    weights = np.exp(np.array(SCORES) / temperature)
    return weights / weights.sum()


def assert_drawn_from(counts: np.ndarray, probs: np.ndarray) -> None:
    """Chi-square below its 99.99 % quantile for 7 degrees of freedom; nothing where the probability is 0."""
    assert counts[probs == 0].sum() == 0
    expected = probs[probs > 1e-9] * counts.sum()
    assert ((counts[probs > 1e-9] - expected) ** 2 / expected).sum() < 29.9


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_are_those_of_softmax(temperature: float) -> None:
    """C2.96, C2.97."""
    assert_drawn_from(frequencies(temperature), softmax(temperature))


def test_another_seed_draws_otherwise_from_the_same() -> None:
    first, second = frequencies(1.0, seed=3), frequencies(1.0, seed=4)
    assert (first != second).any()
    assert_drawn_from(second, softmax(1.0))


def test_top_k_leaves_the_likeliest() -> None:
    probs = np.where(np.isin(range(8), [3, 6, 1]), softmax(1.0), 0)
    assert_drawn_from(frequencies(1.0, top_k=3), probs / probs.sum())


def test_top_p_leaves_the_fewest_that_reach_it() -> None:
    # 3, 6 and 1 together have 0.79 of the probability, with 4 it is 0.88.
    probs = np.where(np.isin(range(8), [3, 6, 1, 4]), softmax(1.0), 0)
    assert_drawn_from(frequencies(1.0, top_p=0.85), probs / probs.sum())


def test_top_p_counts_what_top_k_left() -> None:
    # Of the shares of 3, 6 and 1 the first two make 0.82.
    probs = np.where(np.isin(range(8), [3, 6]), softmax(1.0), 0)
    assert_drawn_from(frequencies(1.0, top_k=3, top_p=0.8), probs / probs.sum())


def test_min_p_leaves_those_with_that_part_of_the_likeliest() -> None:
    # After the temperature 1 has 0.61 of the probability of 3, 4 has 0.47, and 7 only 0.37.
    probs = np.where(np.isin(range(8), [3, 6, 1, 4]), softmax(2.0), 0)
    assert_drawn_from(frequencies(2.0, min_p=0.4), probs / probs.sum())


def test_top_p_knows_nothing_of_min_p() -> None:
    # 3 and 6 make 0.68 of everything, and 0.83 of what min-p leaves: 3, 6 and 1.
    probs = np.where(np.isin(range(8), [3, 6, 1]), softmax(1.0), 0)
    assert_drawn_from(frequencies(1.0, top_p=0.78, min_p=0.3), probs / probs.sum())


def test_the_ends_of_min_p() -> None:
    assert_drawn_from(frequencies(1.0, min_p=0.0), softmax(1.0))
    assert set(tokens_for([SCORES] * 100, [1.0] * 100, min_ps=[1.0] * 100)) == {3}
    assert tokens_for([SCORES], [0.0], min_ps=[0.3]) == [3]


def test_greedy_takes_the_highest_without_softmax(monkeypatch: pytest.MonkeyPatch) -> None:
    """C2.95, C2.98, C2.101."""

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a greedy batch needs no softmax")

    monkeypatch.setattr(torch, "softmax", refuse)
    assert tokens_for([SCORES, SCORES[::-1]], [0, 0]) == [3, 4]
    assert tokens_for([SCORES], [0.7], top_ks=[1]) == [3]
    assert tokens_for([[2.0, 5.0, 5.0]], [0]) == [1]


@given(st.permutations(range(40)), st.integers(0, 2**64 - 1))
@settings(max_examples=30, deadline=None)
def test_neighbours_change_nothing(order: list[int], seed: int) -> None:
    """Each row's token is the same alone and in any company, with every kind of row in it."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (40, 50)).tolist()
    values = (
        rng.choice([0.0, 0.3, 1.0, 5.0], 40).tolist(),
        rng.choice([-1, 1, 2, 10, 50, 1000], 40).tolist(),
        rng.choice([1.0, 0.9, 0.1, 1e-6], 40).tolist(),
        [(seed + n) % 2**64 for n in range(40)],
        rng.integers(0, 2**20, 40).tolist(),
        rng.choice([0.0, 0.0, 0.1, 0.9], 40).tolist(),
    )
    together = tokens_for([logits[n] for n in order], *([column[n] for n in order] for column in values))
    for place, n in enumerate(order):
        assert tokens_for([logits[n]], *([column[n]] for column in values)) == [together[place]]


@given(st.integers(0, 2**32 - 1), st.sampled_from([30, FEW + 300]), st.sampled_from([0.02, 0.3, 5.0]))
@settings(max_examples=30, deadline=None)
def test_kept_is_what_a_plain_loop_keeps(seed: int, size: int, evenness: float) -> None:
    rng = np.random.default_rng(seed)
    probs = rng.dirichlet(np.full(size, evenness), 6)
    top_k = rng.choice([1, 5, FEW, FEW + 1, size - 1, size], 6).clip(max=size)
    top_p = rng.choice([0.01, 0.5, 0.9, 0.999, 1.0], 6)
    min_p = rng.choice([0.0, 0.05, 0.5, 1.0], 6)
    found = kept(*map(torch.tensor, (probs, top_k, top_p, min_p))).numpy()
    for row in range(6):
        likeliest = sorted(range(size), key=lambda token: -probs[row, token])[: top_k[row]]
        enough = top_p[row] * probs[row, likeliest].sum()
        expected, total = set(), 0.0
        for token in likeliest:
            if total < enough - 1e-12:
                expected.add(token)
            total += probs[row, token]
        expected -= set(np.flatnonzero(probs[row] < min_p[row] * probs[row].max()))
        found_tokens = set(np.flatnonzero(found[row]))
        # At a share of 1 it is rounding that decides on what has next to no probability.
        assert probs[row, list(expected ^ found_tokens)].sum() < 1e-12


def test_equals_stay_together() -> None:
    """Else it would depend on the order in which they were found."""
    probs = torch.tensor([[0.1, 0.3, 0.1, 0.3, 0.1, 0.1]] * 2)
    found = kept(probs, torch.tensor([3, 6]), torch.tensor([1.0, 0.65]))
    assert found.all()
    assert kept(probs, torch.tensor([1, 2]), None).tolist() == [[False, True, False, True, False, False]] * 2


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(
    ("scores", "allowed"),
    [
        ([NAN, 1.0, 0.5], {1, 2}),
        ([NAN, NAN, NAN], {0}),
        ([-INF, -INF, -INF], {0}),
        ([-INF, 2.0, NAN], {1}),
        ([0.0, INF, 1.0], {1}),
    ],
)
def test_scores_that_are_not_numbers(scores: list[float], allowed: set[int], temperature: float) -> None:
    """They cost their own row its meaning, and its neighbours nothing."""
    rows = tokens_for([scores, SCORES[:3]] * 50, [temperature, 0] * 50)
    assert set(rows[::2]) <= allowed
    assert set(rows[1::2]) == {1}


@pytest.mark.parametrize("temperature", [1e-45, 1e-30, 1e-6])
def test_the_smallest_temperatures_are_greedy(temperature: float) -> None:
    assert set(tokens_for([SCORES] * 100, [temperature] * 100)) == {3}


def test_the_largest_temperature_makes_all_equal() -> None:
    assert_drawn_from(frequencies(3e38), np.full(8, 1 / 8))


def test_the_smallest_top_p_is_greedy() -> None:
    assert set(tokens_for([SCORES] * 100, [1.0] * 100, top_ps=[1e-45] * 100)) == {3}


def test_draws_are_even_and_differ_by_seed_and_position() -> None:
    seeds = np.repeat(np.array([0, 1, 2**63, 2**64 - 1], np.uint64), 5000)
    draws = uniform_draws(seeds, np.tile(np.arange(5000), 4))
    assert ((draws >= 0) & (draws < 1)).all()
    assert len(set(draws.tolist())) == len(draws)
    counts = np.histogram(draws, bins=20, range=(0, 1))[0]
    assert ((counts - 1000) ** 2 / 1000).sum() < 52.4  # 99.99 % quantile for 19 degrees of freedom
    series = draws.reshape(4, 5000)
    assert np.abs(np.corrcoef(series) - np.eye(4)).max() < 0.06
    assert abs(np.corrcoef(series[0, :-1], series[0, 1:])[0, 1]) < 0.06


@pytest.mark.parametrize("temperature", [0.7, 1.0, 3.0])
def test_filters_are_those_of_transformers(temperature: float) -> None:
    """Without equals, which here stay together."""
    processors = pytest.importorskip("transformers").generation.logits_process
    scores = torch.randn(200, 50, generator=torch.Generator().manual_seed(5)) * 3
    warped = processors.TemperatureLogitsWarper(temperature)(None, scores)
    probs = torch.softmax(warped, dim=-1)
    column = torch.ones(200)
    for top_k, top_p, min_p in [(50, 1.0, 0.1), (10, 0.9, 0.02), (7, 1.0, 0.3), (50, 0.6, 1e-4)]:
        expected = processors.TopKLogitsWarper(top_k)(None, warped)
        expected = processors.TopPLogitsWarper(top_p)(None, expected)
        expected = processors.MinPLogitsWarper(min_p)(None, expected)
        found = kept(probs, (column * top_k).long(), column * top_p, column * min_p)
        assert torch.equal(found, expected > -torch.inf)
