"""What a captured decode step is told, and what its first kernel makes of it."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from minisgl_tutor.engine.base import ForwardBatch, SamplingBatch, TableUpdate
from minisgl_tutor.engine.packed_rows import (
    CACHED,
    FIELDS,
    NEW_PAGE,
    NO_PAGE,
    SEED_HIGH,
    SEED_LOW,
    SLOT,
    TEMPERATURE,
    RowPacker,
    capture_sizes,
    packed_length,
)

PAGE = 4
SPARE = 9


def decode(slots: list[int], cached: list[int], update: list[tuple[int, int, int]]) -> ForwardBatch:
    """``update`` has (slot, column, page)."""
    rows = len(slots)
    lens = np.array(cached, np.int32)
    writes = np.array(update, np.int32).reshape(-1, 3)
    return ForwardBatch(
        "decode",
        list(range(rows)),
        np.array(slots, np.int32),
        lens,
        lens + 1,
        np.empty(0, np.int32),
        TableUpdate(writes[:, 0], writes[:, 1], writes[:, 2]),
        np.ones(rows, bool),
        SamplingBatch(
            temperatures=np.linspace(0, 1, rows).astype(np.float32),
            top_ks=np.array([1] + [-1] * (rows - 1), np.int32),
            top_ps=np.ones(rows, np.float32),
            seeds=np.array([2**64 - 1 - 3 * row for row in range(rows)], np.uint64),
            positions=(lens + 1).astype(np.int64),
        ),
    )


def packed(batch: ForwardBatch, size: int) -> np.ndarray:
    packer = RowPacker(SPARE, PAGE)
    pages = packer.new_pages(batch)
    assert pages is not None
    buffer = np.full(packed_length(size), 77, np.int32)
    packer.pack(buffer, size, batch, pages)
    return buffer


def test_every_number_of_rows_fits_a_size_that_is_not_much_larger() -> None:
    for most in (1, 2, 3, 7, 8, 20, 256):
        sizes = capture_sizes(most)
        assert sizes[-1] == most
        for rows in range(1, most + 1):
            assert min(size for size in sizes if size >= rows) < max(2 * rows, rows + 8)
    assert capture_sizes(0) == []


def test_fields() -> None:
    batch = decode([5, 2, 7], [8, 3, 12], [(5, 2, 40), (7, 3, 41)])
    buffer = packed(batch, 4)
    fields = buffer[:-1].reshape(FIELDS, 4)
    assert fields[SLOT].tolist() == [5, 2, 7, SPARE]
    assert fields[CACHED].tolist() == [8, 3, 12, 0]
    assert fields[NEW_PAGE].tolist() == [40, NO_PAGE, 41, NO_PAGE]
    assert fields[TEMPERATURE].view(np.float32).tolist() == [0, 0.5, 1, 0]
    seeds = fields[SEED_LOW, :3].view(np.uint32) + (
        fields[SEED_HIGH, :3].view(np.uint32).astype(np.uint64) << 32
    )
    assert seeds.tolist() == batch.sampling.seeds.tolist()
    assert buffer[-1] == 3


def test_a_row_whose_top_k_is_one_is_greedy() -> None:
    batch = decode([1, 2], [5, 5], [])
    batch.sampling.temperatures[0] = 0.9
    assert packed(batch, 2)[:-1].reshape(FIELDS, 2)[TEMPERATURE].view(np.float32).tolist() == [0, 1]


@pytest.mark.parametrize(
    "update", [(3, 2, 40), (5, 1, 40), (5, 3, 40)], ids=["other slot", "before", "behind"]
)
def test_other_writes_to_the_page_table_are_not_packed(update: tuple[int, int, int]) -> None:
    packer = RowPacker(SPARE, PAGE)
    assert packer.new_pages(decode([5, 2], [8, 4], [(2, 1, 39), update])) is None
    # Nothing of it is remembered.
    again = packer.new_pages(decode([3, 6], [8, 5], [(3, 2, 12)]))
    assert again is not None
    assert again.tolist() == [12, NO_PAGE]


def test_the_first_kernel_opens_rows() -> None:
    torch: Any = pytest.importorskip("torch")
    pytest.importorskip("triton")
    gpu = torch.cuda.is_available()
    if not gpu and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("needs a GPU or Triton's interpreter")
    from minisgl_tutor.engine.cuda_graph import keep_tokens, open_rows

    device, size = torch.device("cuda" if gpu else "cpu"), 4
    batch = decode([5, 2, 7], [8, 3, 12], [(5, 2, 40), (7, 3, 41)])
    inputs = torch.from_numpy(packed(batch, size)).to(device)
    table = torch.arange(10 * 6, dtype=torch.int32, device=device).view(10, 6)
    pool = torch.arange(10 * 20, dtype=torch.int32, device=device).view(10, 20)
    ids, positions, locations, seeds = torch.zeros(4, size, dtype=torch.int64, device=device)
    lens = torch.zeros(size, dtype=torch.int32, device=device)
    open_rows[(size,)](
        inputs, size, table, 6, pool, 20, PAGE, ids, positions, locations, lens, seeds, num_warps=1
    )
    assert table[5].tolist() == [30, 31, 40, 33, 34, 35]
    assert table[7].tolist() == [42, 43, 44, 41, 46, 47]
    assert ids.tolist() == [5 * 20 + 8, 2 * 20 + 3, 7 * 20 + 12, SPARE * 20]
    assert positions.tolist() == [8, 3, 12, 0]
    assert locations.tolist() == [40 * PAGE, 12 * PAGE + 3, 41 * PAGE, SPARE * 6 * PAGE]
    assert lens.tolist() == [9, 4, 13, 1]
    assert seeds[:3].cpu().numpy().view(np.uint64).tolist() == batch.sampling.seeds.tolist()
    tokens = torch.tensor([1, 2, 3, 4], dtype=torch.int32, device=device)
    keep_tokens[(size,)](tokens, inputs[:size], lens, pool, 20, num_warps=1)
    assert [pool[5, 9], pool[2, 4], pool[7, 13], pool[SPARE, 1]] == [1, 2, 3, 4]
