"""Triton's attention of short prompts against float64. Runs on a GPU, or anywhere with TRITON_INTERPRET=1."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs a GPU or Triton's interpreter", allow_module_level=True)

from minisgl_tutor.attention.base import PromptStep  # noqa: E402
from minisgl_tutor.attention.paged_prefill import PagedPrefill  # noqa: E402
from minisgl_tutor.engine.base import ForwardBatch, SamplingBatch, TableUpdate  # noqa: E402
from minisgl_tutor.engine.kv_cache import KVCache  # noqa: E402
from minisgl_tutor.engine.packed_prompt import MAX_ROWS, pack_prompt, packed_length, tile_count  # noqa: E402
from minisgl_tutor.engine.prompt_graph import place_tokens  # noqa: E402
from minisgl_tutor.models.config import ModelConfig, Rope  # noqa: E402

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SIZE = 128


def batch_of(cached: list[int], lengths: list[int], slots: list[int]) -> ForwardBatch:
    none, rows = np.empty(0, np.int32), len(lengths)
    greedy = SamplingBatch(
        np.zeros(rows, np.float32),
        np.full(rows, -1, np.int32),
        np.ones(rows, np.float32),
        np.zeros(rows, np.uint64),
        np.zeros(rows, np.int64),
    )
    lens, before = np.array(lengths, np.int32), np.array(cached, np.int32)
    ids = np.arange(int((lens - before).sum()), dtype=np.int32)
    update = TableUpdate(none, none, none)
    emits = np.ones(rows, bool)
    return ForwardBatch(
        "prefill", list(range(rows)), np.array(slots), before, lens, ids, update, emits, greedy
    )


@pytest.mark.parametrize(
    ("heads", "kv_heads", "dim", "page_size", "cached", "lengths"),
    [
        (4, 2, 16, 16, [0, 0], [5, 70]),
        (10, 2, 24, 1, [3, 0], [4, 20]),
        (2, 2, 32, 64, [130, 64], [180, 65]),
        (2, 1, 16, 4, [33], [100]),
    ],
)
def test_ragged_prompts(
    heads: int, kv_heads: int, dim: int, page_size: int, cached: list[int], lengths: list[int]
) -> None:
    """From the packed rows to the result: cached beginnings, several tiles a row, tokens that fill up."""
    torch.manual_seed(0)
    config = ModelConfig("x", 100, 64, 64, 1, heads, kv_heads, dim, 1e-6, Rope(1e4), 4096, True, False, True)
    counts = [-(-length // page_size) for length in lengths]
    spare_page, spare_slot = sum(counts), 5
    cache = KVCache(config, spare_page + 1, page_size, torch.float32, DEVICE)
    cache.keys.copy_(torch.randn(cache.keys.shape))
    cache.values.copy_(torch.randn(cache.values.shape))
    pages = torch.randperm(spare_page, device=DEVICE).int().split(counts)
    slots = [4, 1][: len(lengths)]
    table = torch.full((spare_slot + 1, max(counts)), spare_page, dtype=torch.int32, device=DEVICE)
    for slot, own in zip(slots, pages, strict=True):
        table[slot, : len(own)] = own
    buffer = np.empty(packed_length(SIZE), np.int32)
    pack_prompt(buffer, SIZE, batch_of(cached, lengths, slots), spare_slot)
    inputs = torch.from_numpy(buffer).to(DEVICE)
    ids, positions, locations = torch.zeros(3, SIZE, dtype=torch.int64, device=DEVICE)
    width = table.shape[1]
    place_tokens[(2,)](inputs, SIZE, table, width, page_size, ids, positions, locations, BLOCK=64)
    new = [length - before for length, before in zip(lengths, cached, strict=True)]
    total = sum(new)
    assert ids[:total].tolist() == list(range(total))
    wanted = [position for low, high in zip(cached, lengths, strict=True) for position in range(low, high)]
    assert positions[:total].tolist() == wanted
    assert locations[total:].tolist() == [spare_page * page_size] * (SIZE - total)

    backend = PagedPrefill(cache)
    tiles = inputs[3 * SIZE + MAX_ROWS :].view(4, tile_count(SIZE))
    plan = backend.capture(PromptStep(table, tiles, locations))
    q = torch.randn(SIZE, heads, dim, device=DEVICE)
    found = backend.forward(q, q, q, 0, plan)
    token = 0
    for own, before, length in zip(pages, cached, lengths, strict=True):
        k, v = (
            pool[0, own.long()].transpose(0, 1).flatten(1, 2).double().repeat_interleave(heads // kv_heads, 0)
            for pool in (cache.keys, cache.values)
        )
        for position in range(before, length):
            seen = slice(0, position + 1)
            scores = torch.einsum("hd,hnd->hn", q[token].double(), k[:, seen]) / math.sqrt(dim)
            expected = torch.einsum("hn,hnd->hd", scores.softmax(-1), v[:, seen])
            torch.testing.assert_close(found[token].double(), expected, atol=1e-5, rtol=1e-5)
            assert int(locations[token]) == int(own[position // page_size]) * page_size + position % page_size
            token += 1
