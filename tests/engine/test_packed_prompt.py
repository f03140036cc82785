"""What a captured prefill step is told of its rows."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")

from minisgl_tutor.attention.base import TILE_TOKENS
from minisgl_tutor.engine.base import ForwardBatch, SamplingBatch, TableUpdate
from minisgl_tutor.engine.packed_prompt import (
    MAX_ROWS,
    SIZES,
    always_fits,
    pack_prompt,
    packed_length,
    tile_count,
)

SPARE = 9


def prefill(cached: list[int], lengths: list[int], slots: list[int], emits: list[bool]) -> ForwardBatch:
    none, rows = np.empty(0, np.int32), len(lengths)
    zeros = np.zeros(rows, np.float32)
    sampling = SamplingBatch(zeros, zeros.astype(np.int32), zeros, zeros.astype(np.uint64), zeros.astype(int))
    lens, before = np.array(lengths, np.int32), np.array(cached, np.int32)
    ids = np.arange(100, 100 + (lens - before).sum()).astype(np.int32)
    where = np.array(slots, np.int32)
    update, flags = TableUpdate(none, none, none), np.array(emits)
    return ForwardBatch("prefill", list(range(rows)), where, before, lens, ids, update, flags, sampling)


def test_rows_lie_one_after_the_other() -> None:
    size = 128
    buffer = np.full(packed_length(size), -7, np.int32)
    pack_prompt(buffer, size, prefill([0, 10, 3], [2, 80, 4], [4, 2, 7], [True, False, True]), SPARE)
    ids, slots, positions = buffer[: 3 * size].reshape(3, size)
    assert ids[:73].tolist() == list(range(100, 173))
    assert slots[:73].tolist() == [4] * 2 + [2] * 70 + [7]
    assert positions[:73].tolist() == [0, 1, *range(10, 80), 3]
    assert set(slots[73:].tolist()) == {SPARE}
    assert not positions[73:].any()
    assert buffer[3 * size : 3 * size + MAX_ROWS].tolist()[:2] == [1, 72]
    tiles = buffer[3 * size + MAX_ROWS :].reshape(4, tile_count(size))
    assert tiles[:, :4].tolist() == [[0, 2, 66, 72], [2, 64, 6, 1], [4, 2, 2, 7], [0, 10, 74, 3]]
    assert not tiles[1, 4:].any()


@pytest.mark.parametrize("size", SIZES)
def test_the_most_rows_fit(size: int) -> None:
    """One token in all rows but one: the most tiles that there can be."""
    lengths = [1] * (MAX_ROWS - 1) + [size - MAX_ROWS + 1]
    buffer = np.empty(packed_length(size), np.int32)
    batch = prefill([0] * MAX_ROWS, lengths, list(range(MAX_ROWS)), [True] * MAX_ROWS)
    pack_prompt(buffer, size, batch, SPARE)
    tiles = buffer[3 * size + MAX_ROWS :].reshape(4, tile_count(size))
    assert tiles[1].sum() == size
    assert tiles[1].max() <= TILE_TOKENS


def test_what_always_fits() -> None:
    assert always_fits(SIZES[-1], MAX_ROWS)
    assert not always_fits(SIZES[-1] + 1, MAX_ROWS)
    assert not always_fits(SIZES[-1], MAX_ROWS + 1)
