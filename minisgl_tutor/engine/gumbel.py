"""A sampler for GPUs that reads the scores once: the highest of score over temperature plus Gumbel noise.

That draws from the softmax. The noise of a token is a hash of the row's seed, the
index of the token to be drawn in its sequence, and the token's id, so a draw
depends on nothing else: not on the other rows, nor on the row's place among them.
(The seeded draws of the CPU's sampler are other ones.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from .base import SamplingBatch
from .packed_rows import effective_temperatures
from .sample import kept
from .transfer import to_device

PART = 4096
"""So many scores are one program's work."""

LOWEST_TEMPERATURE = 1e-4
"""Below, the choice is greedy but for the rounding of scores."""


class GumbelSampler:
    """The sampler's interface, for scores on a GPU."""

    def __init__(self, vocab_size: int, device: torch.device) -> None:
        self.vocab_size = vocab_size
        self.device = device

    def prepare(self, batch: SamplingBatch, rows: np.ndarray) -> GumbelArgs:
        """The sampling values of ``rows`` (indices), on the device."""
        filtered = find_filtered(batch, rows, self.vocab_size)
        return GumbelArgs(
            temperatures=to_device(effective_temperatures(batch)[rows], self.device),
            seeds=to_device(batch.seeds[rows].view(np.int64), self.device),
            positions=to_device(batch.positions[rows], self.device),
            filters=None if filtered is None else filtered.to(self.device),
        )

    def sample(self, logits: Tensor, args: GumbelArgs) -> Tensor:
        """One token a row, int32, from scores of shape [rows, vocab] (C2.95 to C2.101).

        A score that is not a number counts as the lowest; in a row of nothing else
        token 0 is chosen.
        """
        if args.filters is not None:
            logits = args.filters.apply(logits, args.temperatures)
        tokens = torch.empty(len(logits), dtype=torch.int32, device=logits.device)
        if len(logits):
            draw(logits, args.temperatures, args.seeds, args.positions, tokens)
        return tokens


@dataclass(frozen=True)
class Filters:
    """The filters of those rows that have any: ``rows`` int64, the values as in ``sample.kept``.

    Where all have min-p alone, nothing has to be ordered, and the host does not wait.
    """

    rows: Tensor
    min_p: Tensor
    top_k: Tensor | None
    top_p: Tensor | None

    def to(self, device: torch.device) -> Filters:
        ranks = (None if x is None else to_device(x, device) for x in (self.top_k, self.top_p))
        return Filters(to_device(self.rows, device), to_device(self.min_p, device), *ranks)

    def apply(self, logits: Tensor, temperatures: Tensor) -> Tensor:
        """A copy of ``logits`` in which tokens that a row's filters leave out are minus infinity."""
        own = logits[self.rows].float().nan_to_num(nan=-torch.inf)
        scaled = own / temperatures[self.rows].clamp(min=LOWEST_TEMPERATURE)[:, None]
        keep = kept(torch.softmax(scaled, dim=-1), self.top_k, self.top_p, self.min_p)
        filtered = own.masked_fill(~keep, -torch.inf).to(logits.dtype)
        return logits.index_copy(0, self.rows, filtered)


@dataclass(frozen=True)
class GumbelArgs:
    """The sampling values of one step on the device, shape [rows]; ``temperatures`` is 0 for a greedy row.

    ``seeds`` int64 (the bits of the batch's), ``positions`` int64 or int32.
    """

    temperatures: Tensor
    seeds: Tensor
    positions: Tensor
    filters: Filters | None


def find_filtered(batch: SamplingBatch, rows: np.ndarray, vocab_size: int) -> Filters | None:
    """Which of ``rows`` have filters that leave something out, on the host; ``None`` if none does."""
    top_ks, top_ps = batch.top_ks[rows], batch.top_ps[rows]
    min_ps = np.zeros(len(rows), np.float32) if batch.min_ps is None else batch.min_ps[rows]
    limited = (top_ks > 1) & (top_ks < vocab_size)
    ranked = limited | (top_ps < 1)
    chosen = np.flatnonzero((ranked | (min_ps > 0)) & (effective_temperatures(batch)[rows] > 0))
    if not len(chosen):
        return None
    own, min_p = torch.from_numpy(chosen), torch.from_numpy(min_ps[chosen])
    if not ranked[chosen].any():
        return Filters(own, min_p, None, None)
    top_k = np.where(limited[chosen], top_ks[chosen], vocab_size).astype(np.int64)
    return Filters(own, min_p, torch.from_numpy(top_k), torch.from_numpy(top_ps[chosen]))


def other_rows(batch: SamplingBatch, vocab_size: int) -> np.ndarray:
    """The rows whose token is not drawn from the softmax of their scores at a temperature, ascending."""
    others = [changed.rows for changed in (batch.penalties, batch.biases) if changed is not None]
    filters = find_filtered(batch, np.arange(len(batch.seeds)), vocab_size)
    if filters is not None:
        others.append(filters.rows.numpy())
    return np.unique(np.concatenate(others)) if others else np.empty(0, np.int64)


def draw(logits: Tensor, temperatures: Tensor, seeds: Tensor, positions: Tensor, tokens: Tensor) -> None:
    """Writes one token a row to ``tokens``. Can be captured: it waits for nothing."""
    rows, vocab = logits.shape
    parts = triton.cdiv(vocab, PART)
    best = torch.empty(rows, parts, dtype=torch.float32, device=logits.device)
    where = torch.empty(rows, parts, dtype=torch.int32, device=logits.device)
    _draw_part[(rows, parts)](
        logits,
        temperatures,
        seeds,
        positions,
        best,
        where,
        vocab,
        parts,
        LOWEST_TEMPERATURE,
        PART=PART,
        num_warps=8,
    )
    _draw_all[(rows,)](best, where, tokens, parts, BLOCK=triton.next_power_of_2(parts), num_warps=1)


@triton.jit
def _noise(bits: tl.tensor) -> tl.tensor:
    """Gumbel noise from random bits: -log(-log(1 - u)), exact for small u too, which give the highest."""
    u = (bits.to(tl.float32) + 0.5) * 2.3283064365386963e-10
    exponential = tl.where(u < 1e-3, u + 0.5 * u * u, -tl.log(tl.maximum(1.0 - u, 1e-9)))
    return -tl.log(exponential)


@triton.jit
def _draw_part(
    logits: tl.tensor,
    temperatures: tl.tensor,
    seeds: tl.tensor,
    positions: tl.tensor,
    best: tl.tensor,
    where: tl.tensor,
    vocab: tl.tensor,
    parts: tl.tensor,
    lowest_temperature: tl.tensor,
    PART: tl.constexpr,
) -> None:
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(1)
    QUARTER: tl.constexpr = PART // 4
    temperature = tl.load(temperatures + row)
    # One round of the generator gives four numbers, for tokens a quarter apart.
    first = part * PART + tl.arange(0, QUARTER)
    place = logits + row * vocab + first
    highest = tl.full([QUARTER], -float("inf"), tl.float32)
    chosen = first
    if temperature > 0:
        seed = tl.load(seeds + row)
        high = tl.load(positions + row).to(tl.int64) << 32
        n0, n1, n2, n3 = tl.randint4x(seed, high | first.to(tl.int64), n_rounds=7)
        factor = 1.0 / tl.maximum(temperature, lowest_temperature)
        for quarter in tl.static_range(4):
            token = first + quarter * QUARTER
            given = tl.load(place + quarter * QUARTER, mask=token < vocab, other=-float("inf"))
            bits = n0 if quarter == 0 else (n1 if quarter == 1 else (n2 if quarter == 2 else n3))
            noisy = given.to(tl.float32) * factor + _noise(bits)
            chosen = tl.where(noisy > highest, token, chosen)  # false also for what is not a number
            highest = tl.where(noisy > highest, noisy, highest)
    else:
        for quarter in tl.static_range(4):
            token = first + quarter * QUARTER
            given = tl.load(place + quarter * QUARTER, mask=token < vocab, other=-float("inf"))
            score = given.to(tl.float32)
            chosen = tl.where(score > highest, token, chosen)
            highest = tl.where(score > highest, score, highest)
    best_score = tl.max(highest, 0)
    # The lowest token among equals.
    tl.store(best + row * parts + part, best_score)
    tl.store(where + row * parts + part, tl.min(tl.where(highest == best_score, chosen, 2147483647), 0))


@triton.jit
def _draw_all(
    best: tl.tensor, where: tl.tensor, tokens: tl.tensor, parts: tl.tensor, BLOCK: tl.constexpr
) -> None:
    row = tl.program_id(0).to(tl.int64)
    part = tl.arange(0, BLOCK)
    value = tl.load(best + row * parts + part, mask=part < parts, other=-float("inf"))
    winner = tl.argmax(value, 0, tie_break_left=True)
    tl.store(tokens + row, tl.load(where + row * parts + winner))
