"""The sampler: from scores over the vocabulary to one token a row.

A row's draw depends on its scores, its seed and the token's index in its
sequence, and on nothing else: not on its neighbours, nor on how often it was
retried. So a request with a seed can be repeated.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from .base import SamplingBatch

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
DRAW_BITS = 40
FEW = 256
"""So many of the likeliest tokens nearly always decide top-k and top-p, at a tenth of the cost of a sort."""


@dataclass(frozen=True)
class SamplingArgs:
    """The sampling values of one step on the device, shape [rows]; all ``None`` when every row is greedy.

    ``temperatures`` float32, 0 for a greedy row; ``top_k`` int64, the vocabulary's
    size where off; ``top_p`` and ``min_p`` float32; ``draws`` float64, at least 0 and below 1.
    """

    temperatures: Tensor | None = None
    top_k: Tensor | None = None
    top_p: Tensor | None = None
    min_p: Tensor | None = None
    draws: Tensor | None = None


def uniform_draws(seeds: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """A number in [0, 1) for each seed and position: the SplitMix64 stream of the seed, float64.

    40 bits, so that a draw times a float64 total stays below the total.
    """
    with np.errstate(over="ignore"):
        x = _mix(seeds.astype(np.uint64)) + GOLDEN * (positions.astype(np.uint64) + np.uint64(1))
    return (_mix(x) >> np.uint64(64 - DRAW_BITS)).astype(np.float64) * 2.0**-DRAW_BITS


def _mix(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))


class StepSampler(Protocol):
    """What the engine asks of a sampler. What ``prepare`` gives is only for its own ``sample``."""

    def prepare(self, batch: SamplingBatch, rows: np.ndarray) -> Any: ...

    def sample(self, logits: Tensor, args: Any) -> Tensor: ...


class Sampler:
    """Chooses tokens. ``prepare`` is host work for one step; ``sample`` runs on the device."""

    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self.vocab_size = vocab_size
        self.device = device

    def prepare(self, batch: SamplingBatch, rows: np.ndarray) -> SamplingArgs:
        """The sampling values of ``rows`` (indices), on the device."""
        temperatures = np.where(batch.top_ks[rows] == 1, 0, batch.temperatures[rows]).astype(np.float32)
        if (temperatures <= 0).all():
            return SamplingArgs()
        top_ks = batch.top_ks[rows].astype(np.int64)
        top_ks = np.where((top_ks <= 0) | (top_ks > self.vocab_size), self.vocab_size, top_ks)
        top_ps = batch.top_ps[rows].astype(np.float32)
        min_ps = None if batch.min_ps is None else batch.min_ps[rows].astype(np.float32)
        return SamplingArgs(
            temperatures=self._move(temperatures),
            top_k=self._move(top_ks) if (top_ks < self.vocab_size).any() else None,
            top_p=self._move(top_ps) if (top_ps < 1).any() else None,
            min_p=None if min_ps is None else self._move(min_ps),
            draws=self._move(uniform_draws(batch.seeds[rows], batch.positions[rows])),
        )

    def sample(self, logits: Tensor, args: SamplingArgs) -> Tensor:
        """One token a row, int64, from scores of shape [rows, vocab] (C2.95 to C2.101).

        A score that is not a number counts as the lowest; in a row of nothing else
        token 0 is chosen.
        """
        if args.temperatures is None:
            return greedy(logits)
        return sample_impl(logits, args)

    def _move(self, values: np.ndarray) -> Tensor:
        return torch.from_numpy(values).to(self.device, non_blocking=True)


def greedy(logits: Tensor) -> Tensor:
    """The highest score's token, the lowest one among equals."""
    values, tokens = logits.max(dim=-1)
    if logits.device.type == "cpu" and bool(values.isnan().any()):
        return logits.nan_to_num(nan=-torch.inf).argmax(dim=-1)
    return tokens


def sample_impl(logits: Tensor, args: SamplingArgs) -> Tensor:
    """Temperature, what the filters leave, then the draw; greedy where the temperature is 0."""
    temperatures, draws = args.temperatures, args.draws
    assert temperatures is not None and draws is not None
    highest = torch.finfo(torch.float32).max
    logits = logits.float().nan_to_num(nan=-torch.inf, posinf=highest, neginf=-torch.inf)
    best_scores, best = logits.max(dim=-1)
    # With the highest score at 0 the smallest temperature overflows to minus infinity only: a greedy choice.
    probs = torch.softmax((logits - best_scores[:, None]) / temperatures.clamp(min=1e-30)[:, None], dim=-1)
    if args.top_k is not None or args.top_p is not None or args.min_p is not None:
        probs = torch.where(kept(probs, args.top_k, args.top_p, args.min_p), probs, 0)
    drawn = sampling_from_probs(probs, draws)
    return torch.where((temperatures <= 0) | best_scores.isneginf(), best, drawn)


def kept(
    probs: Tensor, top_k: Tensor | None = None, top_p: Tensor | None = None, min_p: Tensor | None = None
) -> Tensor:
    """Which tokens all filters leave: bool, the shape of ``probs``.

    Min-p keeps those with at least that part of the likeliest one's probability.
    Top-k and then top-p know nothing of it.

    Top-p keeps the fewest of the likeliest whose share of what top-k left reaches
    it, at least one. All that are as likely as the last one kept stay as well, so
    that what is kept follows from the probabilities alone.
    """
    keep = _kept_by_rank(probs, top_k, top_p)
    return (
        keep if min_p is None else keep & (probs >= min_p[:, None] * probs.max(dim=-1, keepdim=True).values)
    )


def _kept_by_rank(probs: Tensor, top_k: Tensor | None, top_p: Tensor | None) -> Tensor:
    if top_k is None and top_p is None:
        return torch.ones_like(probs, dtype=torch.bool)
    rows, size = probs.shape
    top_k = torch.full((rows,), size, device=probs.device) if top_k is None else top_k
    top_p = torch.ones(rows, device=probs.device) if top_p is None else top_p
    likeliest = probs.topk(min(FEW, size), dim=-1).values
    lowest = _lowest_kept(likeliest, top_k, top_p, size)
    few_are_enough = (top_k <= FEW) | ((top_k == size) & ((top_p >= 1) | (likeliest.sum(dim=-1) > top_p)))
    rest = (~few_are_enough).nonzero()[:, 0]
    if len(rest):
        ordered = probs[rest].sort(dim=-1, descending=True).values
        lowest[rest] = _lowest_kept(ordered, top_k[rest], top_p[rest], size)
    return probs >= lowest[:, None]


def _lowest_kept(ordered: Tensor, top_k: Tensor, top_p: Tensor, size: int) -> Tensor:
    """The probability of the last token that stays, given the first few or all in falling order."""
    sums = ordered.double().cumsum(dim=-1)
    last = (top_k - 1).clamp(max=ordered.shape[-1] - 1)[:, None]
    total = torch.where(top_k == size, 1, sums.gather(-1, last)[:, 0])
    reached = torch.searchsorted(sums, (top_p * total)[:, None])
    lowest = ordered.gather(-1, torch.minimum(reached, last))[:, 0]
    return torch.where((top_k == size) & (top_p >= 1), 0, lowest)


def sampling_from_probs(probs: Tensor, draws: Tensor) -> Tensor:
    """The token at which the running sum of ``probs`` passes the share ``draws`` of its total."""
    totals = probs.double().cumsum(dim=-1)
    tokens = torch.searchsorted(totals, (draws * totals[:, -1])[:, None], right=True).squeeze(-1)
    return tokens.clamp(max=probs.shape[-1] - 1)
