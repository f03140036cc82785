"""Triton's decode attention against float64. Runs on a GPU, or anywhere with TRITON_INTERPRET=1."""

from __future__ import annotations

import math
import os
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")
if not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1":
    pytest.skip("needs a GPU or Triton's interpreter", allow_module_level=True)

from minisgl_tutor.attention.base import DecodeStep  # noqa: E402
from minisgl_tutor.attention.paged_decode import PagedDecode, Shape  # noqa: E402
from minisgl_tutor.engine.kv_cache import FP8, KVCache  # noqa: E402
from minisgl_tutor.models.config import ModelConfig, Rope  # noqa: E402
from minisgl_tutor.models.ops import TorchOps  # noqa: E402
from minisgl_tutor.models.triton_ops import TritonOps  # noqa: E402

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
EPS = 1e-6
DTYPES = [torch.float32, torch.bfloat16] if DEVICE.type == "cuda" else [torch.float32]
"""The interpreter multiplies no bfloat16 matrices."""


def config(heads: int, kv_heads: int, dim: int) -> ModelConfig:
    return ModelConfig("x", 100, 64, 64, 2, heads, kv_heads, dim, EPS, Rope(1e4), 4096, True, False, True)


def right(q: Any, keys: Any, values: Any, pages: Any, length: int) -> Any:
    """Attention of one row over the first ``length`` positions of its pages."""
    group = q.shape[0] // keys.shape[1]
    k, v = (
        pool[pages].transpose(0, 1).flatten(1, 2)[:, :length].double().repeat_interleave(group, 0)
        for pool in (keys, values)
    )
    scores = torch.einsum("hd,hnd->hn", q.double(), k) / math.sqrt(q.shape[-1])
    return torch.einsum("hn,hnd->hd", scores.softmax(-1), v)


@pytest.mark.parametrize(
    ("heads", "kv_heads", "dim", "page_size", "lengths", "rows"),
    [
        (4, 2, 16, 16, [1, 5, 17, 100, 33], 8),
        (10, 2, 24, 1, [1, 5, 17, 60], 4),
        (4, 4, 32, 32, [1, 70], 2),
        (4, 2, 16, 64, [300, 1, 129, 128], 5),
        (2, 1, 16, 4, [33], 1),
        (8, 2, 128, 16, [33, 40, 200], 4),
    ],
)
@pytest.mark.parametrize(("dtype", "stored"), [(dtype, pool) for dtype in DTYPES for pool in (dtype, FP8)])
def test_ragged_rows(
    heads: int,
    kv_heads: int,
    dim: int,
    page_size: int,
    lengths: list[int],
    rows: int,
    dtype: Any,
    stored: Any,
) -> None:
    """Norms, rotation and storing come first, as in a model; rows behind the live ones change nothing."""
    torch.manual_seed(0)
    counts = [-(-length // page_size) for length in lengths]
    spare = sum(counts)
    cache = KVCache(config(heads, kv_heads, dim), spare + 1, page_size, dtype, DEVICE, stored)
    cache.keys.copy_(torch.randn(cache.keys.shape))
    cache.values.copy_(torch.randn(cache.values.shape))
    pages = torch.randperm(spare, device=DEVICE).int().split(counts)
    slots = torch.randperm(rows + 1)[:rows].int()
    table = torch.full((rows + 1, max(counts)), spare, dtype=torch.int32, device=DEVICE)
    seq_lens = torch.ones(rows, dtype=torch.int32, device=DEVICE)
    locations = torch.full((rows,), spare * page_size, device=DEVICE)
    for row, length in enumerate(lengths):
        table[int(slots[row]), : counts[row]] = pages[row]
        seq_lens[row] = length
        locations[row] = int(pages[row][-1]) * page_size + (length - 1) % page_size
    live = torch.tensor([len(lengths)], dtype=torch.int32, device=DEVICE)
    step = DecodeStep(table, slots.to(DEVICE), seq_lens, locations, live)
    backend = PagedDecode(cache, heads, rows, Shape(tile=16))
    plan = backend.capture(step)

    qkv = torch.randn(rows, heads + 2 * kv_heads, dim, dtype=dtype, device=DEVICE)
    if stored == FP8:
        qkv[0, -1, 0] = 1000.0  # beyond what the pool's type can hold
    angles = torch.randn(rows, 2, dim // 2, device=DEVICE)
    norms = (torch.rand(dim, dtype=dtype, device=DEVICE), torch.rand(dim, dtype=dtype, device=DEVICE))
    split = [heads, kv_heads, kv_heads]
    expected_q, expected_k, expected_v = TorchOps().turn(qkv.clone(), split, norms, EPS, angles, None)
    q, k, v = TritonOps().turn(qkv, split, norms, EPS, angles, backend.sink(1, plan))
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    torch.testing.assert_close(q, expected_q, rtol=tolerance, atol=tolerance)
    out = backend.forward(q, k, v, 1, plan)

    for row, length in enumerate(lengths):
        place = int(pages[row][-1]), slice(None), (length - 1) % page_size
        found_k, found_v = cache.keys[1][place].to(dtype), cache.values[1][place].to(dtype)
        if stored == dtype:
            torch.testing.assert_close(found_k, expected_k[row], rtol=tolerance, atol=tolerance)
            assert torch.equal(found_v, expected_v[row])
        elif DEVICE.type == "cuda":  # the interpreter rounds to 8 bits wrongly just below powers of two
            bounds = {"rtol": 2**-4 + tolerance, "atol": 2**-10 + tolerance}
            torch.testing.assert_close(found_k, expected_k[row], **bounds)
            assert torch.equal(found_v, expected_v[row].clamp(-448, 448).to(FP8).to(dtype))
        expected = right(q[row], cache.keys[1], cache.values[1], pages[row].long(), length)
        error = (out[row].double() - expected).norm() / expected.norm()
        assert error < (1e-5 if dtype == torch.float32 else 1e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_other_operations_are_pytorchs(dtype: Any) -> None:
    torch.manual_seed(0)
    x, stream = torch.randn(2, 5, 96, dtype=dtype, device=DEVICE)
    weight = torch.rand(96, dtype=dtype, device=DEVICE)
    tolerance = 1e-5 if dtype == torch.float32 else 3e-2
    ours, theirs = TritonOps(), TorchOps()
    pairs = [
        (ours.norm(x, weight, EPS), theirs.norm(x, weight, EPS)),
        (ours.gate(x), theirs.gate(x)),
        *zip(
            ours.add_norm(x.clone(), stream.clone(), weight, EPS),
            theirs.add_norm(x, stream, weight, EPS),
            strict=True,
        ),
    ]
    for found, expected in pairs:
        torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)
    assert ours.norm(x[:0], weight, EPS).shape == (0, 96)


def test_turning_in_place_without_norms() -> None:
    torch.manual_seed(0)
    qkv, angles = torch.randn(3, 6, 16, device=DEVICE), torch.randn(3, 2, 8, device=DEVICE)
    expected = TorchOps().turn(qkv.clone(), [4, 1, 1], None, EPS, angles, None)
    for found, right_one in zip(
        TritonOps().turn(qkv, [4, 1, 1], None, EPS, angles, None), expected, strict=True
    ):
        torch.testing.assert_close(found, right_one)
