"""Scores as a request wants them: less for what it has generated already, more or less for tokens it names.

This is OpenAI's formula. With ``c`` the number of times that an answer has a token
so far, its score is ``score + bias - c * frequency - (c > 0) * presence``.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from .base import Biases, ForwardBatch, Penalties
from .transfer import to_device


def adjusted(logits: Tensor, batch: ForwardBatch, rows: np.ndarray, token_pool: Tensor) -> Tensor:
    """The scores to draw from, for ``rows`` of ``batch``, whose ``logits`` these are, shape [rows, vocab].

    ``rows`` is ascending and has every row with penalties or biases. Where there is
    none the same tensor comes back, else a float32 copy. Waits for nothing.
    """
    penalties, biases = batch.sampling.penalties, batch.sampling.biases
    if penalties is None and biases is None:
        return logits
    scores = logits.to(torch.float32, copy=True)
    if biases is not None:
        _add_biases(scores, biases, rows)
    if penalties is not None:
        _penalize(scores, penalties, batch, rows, token_pool)
    return scores


def _add_biases(scores: Tensor, biases: Biases, rows: np.ndarray) -> None:
    where = np.stack([np.searchsorted(rows, biases.rows), biases.tokens])
    places, tokens = to_device(where, scores.device)
    scores[places, tokens] += to_device(biases.values, scores.device)


def _penalize(
    scores: Tensor, penalties: Penalties, batch: ForwardBatch, rows: np.ndarray, token_pool: Tensor
) -> None:
    if len(penalties.known_slots):
        known = np.stack([penalties.known_slots, penalties.known_columns, penalties.known_tokens])
        slots, columns, tokens = to_device(known.astype(np.int64), scores.device)
        token_pool[slots, columns] = tokens.int()
    ends = batch.seq_lens[penalties.rows]
    width = int((ends - penalties.begins).max(initial=0))
    where = np.stack(
        [np.searchsorted(rows, penalties.rows), batch.slots[penalties.rows], penalties.begins, ends]
    )
    places, slots, begins, ends_there = to_device(where.astype(np.int64), scores.device)
    factors = to_device(np.stack([penalties.presences, penalties.frequencies]), scores.device)
    columns = begins[:, None] + torch.arange(width, device=scores.device)
    generated = columns < ends_there[:, None]
    tokens = token_pool[slots[:, None], columns.clamp(max=token_pool.shape[1] - 1)]
    counts = torch.zeros(len(where[0]), scores.shape[1], device=scores.device)
    counts.scatter_add_(1, tokens.long(), generated.float())
    presence, frequency = factors[:, :, None]
    scores[places] -= counts.sign() * presence + counts * frequency
