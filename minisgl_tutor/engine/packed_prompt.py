"""What a captured prefill step needs of its rows, packed into one array of int32: one copy to the device.

A step of ``size`` tokens has, one after the other: ids, slots and positions of its tokens,
``size`` each; where the rows that emit have their last token, ``MAX_ROWS``; and four fields
of its tiles. A tile is up to ``TILE_TOKENS`` tokens of one row: where it begins among the
step's tokens, how many it has, their slot, and the position of the first.
"""

from __future__ import annotations

import numpy as np

from ..attention.base import TILE_TOKENS
from .base import ForwardBatch

MAX_ROWS = 64
SIZES = (64, 128, 256, 384, 512, 768, 1024, 1536, 2048)


def tile_count(size: int) -> int:
    """The most tiles that ``size`` tokens of ``MAX_ROWS`` rows can be cut into."""
    return size // TILE_TOKENS + MAX_ROWS


def always_fits(prefill_budget: int, num_slots: int) -> bool:
    """Whether every prefill step of such a scheduler is one that can be packed."""
    return prefill_budget <= SIZES[-1] and num_slots <= MAX_ROWS


def packed_length(size: int) -> int:
    return 3 * size + MAX_ROWS + 4 * tile_count(size)


def pack_prompt(buffer: np.ndarray, size: int, batch: ForwardBatch, spare_slot: int) -> None:
    """Fills ``buffer``, int32 of ``packed_length(size)``, for a graph of ``size`` tokens.

    Tokens that fill it up belong to ``spare_slot``, which no request has, and to no tile.
    """
    new_lens = batch.seq_lens - batch.cached_lens
    ends = np.cumsum(new_lens)
    starts = ends - new_lens
    count = int(ends[-1])
    row_of_token = np.repeat(np.arange(len(new_lens)), new_lens)
    ids, slots, positions = buffer[: 3 * size].reshape(3, size)
    buffer[:] = 0
    ids[:count] = batch.input_ids
    slots[:] = spare_slot
    slots[:count] = batch.slots[row_of_token]
    positions[:count] = np.arange(count) - (starts - batch.cached_lens)[row_of_token]

    last_tokens = ends[batch.emits] - 1
    buffer[3 * size : 3 * size + len(last_tokens)] = last_tokens

    tiles = -(-new_lens // TILE_TOKENS)
    row = np.repeat(np.arange(len(tiles)), tiles)
    behind = TILE_TOKENS * (np.arange(len(row)) - (np.cumsum(tiles) - tiles)[row])
    fields = buffer[3 * size + MAX_ROWS :].reshape(4, tile_count(size))
    fields[0, : len(row)] = starts[row] + behind
    fields[1, : len(row)] = np.minimum(TILE_TOKENS, new_lens[row] - behind)
    fields[2, : len(row)] = batch.slots[row]
    fields[3, : len(row)] = batch.cached_lens[row] + behind
